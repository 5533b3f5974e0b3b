/**
 * Fishr matches the variance of per-sample gradients across domains. For each domain, v is the variance of the
 * gradients of the classifier's weights and biases over the domain's samples, smoothed over updates. The penalty is the
 * distance of the domains' variances to their mean v̄:
 *
 *     L = CE(f(X), Y) + β·(1/E) Σ_e mean_k (v_e − v̄)_k².
 *
 * The gradients of a linear classifier are δ_i z_iᵀ and δ_i with δ_i = softmax(l_i) − onehot(y_i), so no per-sample
 * gradients are needed: E[(δzᵀ)²] − E[δzᵀ]² = (δ²)ᵀ(z²)/n − ((δᵀz)/n)², which is two matrix products. The smoothing is
 * m ← a·m + (1 − a)·v, and m/(1 − a) is used, so that the gradient is that of v.
 *
 * As in DomainBed, β is 0 for the first `annealSteps` updates, during which the variances are already smoothed, and
 * Adam is reset when the penalty starts. DomainBed loses the smoothed variances when a run is saved; here they are
 * saved.
 */

import { cat, stack, zeros } from "../engine/ops.generated.js";
import { noGrad, type Tensor } from "../engine/tensor.js";
import { UsageError } from "../errors.js";
import { hparam, powerOfTen, uniform, uniformInteger } from "../hparams.js";
import { crossEntropy, Linear, Module, StateBuffer, toFullPrecision } from "../nn/index.js";
import { defineAlgorithm } from "./algorithm.js";
import { rowsByDomain } from "./domain-parts.js";

export const fishr = defineAlgorithm({
  id: "fishr",
  title: "Fishr",
  paper:
    "Rame, Dancette & Cord, Fishr: Invariant Gradient Variances for Out-of-Distribution Generalization, ICML 2022, https://arxiv.org/abs/2109.02934",
  needsDomains: true,
  hparams: {
    penaltyWeight: hparam(1000, powerOfTen(1, 4), { reference: "lambda" }),
    annealSteps: hparam(1500, uniformInteger(0, 5000), { reference: "penalty_anneal_iters" }),
    /** The smoothing factor a. */
    ema: hparam(0.95, uniform(0.9, 0.99), { reference: "ema" }),
  },

  build({ backbone, classifier, classes, domains, hparams: { penaltyWeight, annealSteps, ema } }) {
    if (!(classifier instanceof Linear && classifier.bias)) {
      throw new UsageError("Fishr takes the gradients of a linear classifier with biases; this run's is another");
    }
    if (!(ema >= 0 && ema < 1)) {
      throw new UsageError(`Fishr ema: expected a number from 0 to just below 1, got ${ema}`);
    }
    const memory = new DomainVariances(domains, classes * (backbone.width + 1));
    return {
      modules: { backbone, classifier, memory },
      step(batch, { schedule }) {
        const features = backbone.forward(batch.x);
        const logits = classifier.forward(features);
        const penalty = (): Tensor => {
          const residuals = errors(logits, batch.y);
          const [z, delta] = [rowsByDomain(toFullPrecision(features), batch), rowsByDomain(residuals, batch)];
          const variances = memory.follow(stack(z.map((own, e) => gradientVariance(own, delta[e]))), ema);
          return variances.sub(variances.mean(0)).square().mean();
        };
        const nll = crossEntropy(logits, batch.y);
        const resetOptimizer = schedule((step) => step === annealSteps && annealSteps > 0);
        if (schedule((step) => step < annealSteps)) {
          return { loss: nll, features, logits, logs: { nll, penalty: noGrad(penalty) } };
        }
        const term = penalty();
        return {
          loss: nll.add(term, { alpha: penaltyWeight }),
          features,
          logits,
          logs: { nll, penalty: term },
          resetOptimizer,
        };
      },
      predict: (x) => classifier.forward(backbone.forward(x)),
    };
  },
});

/** Returns δ = softmax(l) − onehot(y), the gradient of the summed cross-entropy with respect to the logits. */
export function errors(logits: Tensor, y: Tensor): Tensor {
  const l = toFullPrecision(logits);
  return l.softmax(1).sub(y.toDType("int64").oneHot(l.size(1)));
}

/**
 * Returns the variance over samples of the classifier's gradients: classes × width for the weights, then the biases.
 */
export function gradientVariance(z: Tensor, delta: Tensor): Tensor {
  const n = z.rows;
  const weight = delta.square().t().matmul(z.square()).div(n).sub(delta.t().matmul(z).div(n).square());
  const bias = delta.square().mean(0).sub(delta.mean(0).square());
  return cat([weight.flatten(), bias]);
}

/** The smoothed variances of each domain. */
class DomainVariances extends Module {
  readonly variances: StateBuffer; // [domains, entries]

  constructor(domains: number, entries: number) {
    super();
    this.variances = new StateBuffer(zeros([domains, entries]));
  }

  /** Updates the smoothed variances and returns them, scaled so that their gradient is that of the latest variances. */
  follow(latest: Tensor, ema: number): Tensor {
    const smoothed = this.variances.mul(ema).add(latest, { alpha: 1 - ema });
    noGrad(() => this.variances.copy_(smoothed));
    return smoothed.div(1 - ema);
  }
}
