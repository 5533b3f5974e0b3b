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
import { scope } from "../engine/scope.js";
import { grad, type Tensor } from "../engine/tensor.js";
import { hparam, powerOfTen, uniform } from "../hparams.js";
import { crossEntropy } from "../nn/index.js";
import { defineAlgorithm } from "./algorithm.js";

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
        for (const [i, parameter] of parameters.entries()) {
          const gradients = all.map((own) => own[i]).filter((gradient) => gradient !== null);
          // A parameter that no loss depends on has no gradient, and Adam skips it.
          if (gradients.length === 0) parameter.grad = null;
          else {
            const added = more?.[i] ?? null;
            parameter.grad = scope(() => {
              const masked = softlyAgreed(gradients, { tau, k });
              return added ? masked.add(added) : masked;
            });
          }
        }
        optimizer.step();
        return { loss: stack(each.map(({ loss }) => loss.detach())).mean() };
      },
      predict: (x) => classifier.forward(backbone.forward(x)),
    };
  },
});

/** Returns the mean of the gradients of one parameter tensor, weighted by their agreement. */
export function softlyAgreed(gradients: readonly Tensor[], { tau, k }: { tau: number; k: number }): Tensor {
  const all = stack(gradients); // [domains, …]
  const variance = orTiny(all.variance(0));
  const agreement = all.sign().mean(0).abs().sub(tau);
  const mask = orTiny(variance.reciprocal().mul(k).mul(agreement).tanh().clamp(0));
  return all.mean(0).mul(mask).div(mask.mean().add(1e-10));
}

const orTiny = (x: Tensor): Tensor => x.where(x.eq(x), TINY); // only NaN differs from itself
