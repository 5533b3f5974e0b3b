/**
 * SAND-mask is AND-mask (and-mask.ts) with a soft mask, which also requires gradients of similar magnitude across
 * domains. For each parameter tensor, with the gradients g_e of the domains' losses and their variance v (divided by E
 * − 1),
 *
 *     mask = max(0, tanh(k·(|mean_e sign(g_e)| − τ)/v)),   gradient = mask ⊙ mean_e g_e / (1e-10 + mean(mask)).
 *
 * As in DomainBed, the default τ = 1 blocks all gradients: the agreement of signs is at most 1, so the mask is 0, and
 * without weight decay no weight changes. The published numbers come from random draws of τ. Set `tau` below 1.
 *
 * Penalties apply to the features of all domains, and their gradient is added after the masking. As part of the
 * domains' losses it would affect the mask.
 */

import { cat, stack } from "../engine/ops.generated.js";
import { grad, type Tensor } from "../engine/tensor.js";
import { hparam, powerOfTen, uniform } from "../hparams.js";
import { crossEntropy } from "../nn/index.js";
import { defineAlgorithm } from "./algorithm.js";
import { type MaskOf, maskedMean, maskedMeans } from "./masked-gradients.js";

/** DomainBed replaces NaN by this value. */
const TINY = 1e-17;

export const sandMask = defineAlgorithm({
  id: "sand-mask",
  title: "SAND-mask",
  paper:
    "Shahtalebi et al., SAND-mask: An Enhanced Gradient Masking Strategy for the Discovery of Invariances in Domain Generalization, 2021, https://arxiv.org/abs/2106.02266",
  needsDomains: true,
  hparams: {
    /** The required agreement of the signs; at 1 all gradients are masked. */
    tau: hparam(1, uniform(0, 1), { reference: "tau" }),
    /** The steepness of the mask. */
    k: hparam(10, powerOfTen(-3, 5), { reference: "k" }),
  },

  build({ backbone, classifier, adam, hparams: { tau, k } }) {
    const parameters = [...backbone.parameters(), ...classifier.parameters()];
    const optimizer = adam(parameters);
    return {
      modules: { backbone, classifier },
      optimizers: { main: optimizer },
      update({ domains }, ctx) {
        const each = domains.map(({ x, y }) => {
          const features = backbone.forward(x);
          const logits = classifier.forward(features);
          return { features, logits, loss: ctx.checked(crossEntropy(logits, y)) };
        });
        const term = ctx.penalty(cat(each.map(({ features }) => features)), cat(each.map(({ logits }) => logits)));
        const options = { allowUnused: true, retainGraph: term !== null } as const;
        const all = each.map(({ loss }) => grad(loss, parameters, options));
        const more = term && grad(ctx.checked(term), parameters, { allowUnused: true });
        const means = maskedMeans(parameters, all, softMask({ tau, k }));
        for (const [i, parameter] of parameters.entries()) {
          const added = more?.[i] ?? null;
          const mean = means[i];
          parameter.grad = mean && added ? mean.add(added) : mean;
        }
        optimizer.step();
        return { loss: stack(each.map(({ loss }) => loss.detach())).mean() };
      },
      predict: (x) => classifier.forward(backbone.forward(x)),
    };
  },
});

/** Returns the mean of the gradients of one parameter tensor, weighted by their agreement. */
export const softlyAgreed = (gradients: readonly Tensor[], settings: { tau: number; k: number }): Tensor =>
  maskedMean(gradients, softMask(settings));

/** The agreement of the gradients, from 0 to 1. */
export const softMask =
  ({ tau, k }: { tau: number; k: number }): MaskOf =>
  (all) => {
    const variance = orTiny(all.variance(0));
    const agreement = all.sign().mean(0).abs().sub(tau);
    return orTiny(variance.reciprocal().mul(k).mul(agreement).tanh().clamp(0));
  };

const orTiny = (x: Tensor): Tensor => x.where(x.eq(x), TINY); // only NaN differs from itself
