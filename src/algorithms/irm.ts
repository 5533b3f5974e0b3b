/**
 * IRM (IRMv1) learns a classifier that is optimal in every domain at the same time. The penalty of a domain is the
 * squared gradient of its loss with respect to a factor s = 1 on the logits. An unbiased estimate is the product of the
 * gradients on two halves of the samples, the even and the odd ones. The product can be negative.
 *
 * The gradient has a closed form, ∂/∂s CE(s·l, y) at s = 1 = mean_i (Σ_k p_ik·l_ik − l_iy), so no double backward is
 * needed. The double backward of the reference implementations costs more and gives the same result.
 *
 * The penalty starts after some updates: see annealed-penalty.ts.
 */

import { stack } from "../engine/ops.generated.js";
import type { Tensor } from "../engine/tensor.js";
import { UsageError } from "../errors.js";
import { hparam, powerOfTen, powerOfTenInteger } from "../hparams.js";
import { toFullPrecision } from "../nn/index.js";
import { defineAlgorithm } from "./algorithm.js";
import { annealed } from "./annealed-penalty.js";
import { lossByDomain, rowsByDomain } from "./domain-parts.js";

export const irm = defineAlgorithm({
  id: "irm",
  title: "IRM",
  paper: "Arjovsky, Bottou, Gulrajani & Lopez-Paz, Invariant Risk Minimization, 2019, https://arxiv.org/abs/1907.02893",
  needsDomains: true,
  hparams: {
    penaltyWeight: hparam(100, powerOfTen(-1, 5), { reference: "irm_lambda" }),
    annealSteps: hparam(500, powerOfTenInteger(0, 4), { reference: "irm_penalty_anneal_iters" }),
  },

  build: ({ backbone, classifier, hparams }) => ({
    modules: { backbone, classifier },
    step(batch, ctx) {
      const features = backbone.forward(batch.x);
      const logits = classifier.forward(features);
      const nll = lossByDomain(logits, batch).mean();
      const penalties = rowsByDomain(logits, batch).map((own, e) => irmPenalty(own, batch.domains[e].y));
      const penalty = stack(penalties).mean();
      return { ...annealed({ nll, penalty }, hparams, ctx), features, logits };
    },
    predict: (x) => classifier.forward(backbone.forward(x)),
  }),
});

/** Returns the penalty of one domain from the logits [n, classes] and labels [n] of its samples. */
export function irmPenalty(logits: Tensor, y: Tensor): Tensor {
  if (logits.rows < 2) {
    throw new UsageError(
      `IRM splits each domain's samples in two halves: expected at least 2 samples a domain, got ${logits.rows}. Raise the batch size`,
    );
  }
  const half = (start: number) => scaleGradient(logits.slice(0, start, null, 2), y.slice(0, start, null, 2));
  return half(0).mul(half(1));
}

/** ∂/∂s CE(s·logits, y) at s = 1. */
function scaleGradient(logits: Tensor, y: Tensor): Tensor {
  const l = toFullPrecision(logits);
  const expected = l.softmax(1).mul(l).sum(1);
  return expected.sub(l.gather(1, y.toDType("int64").unsqueeze(1)).squeeze(1)).mean();
}
