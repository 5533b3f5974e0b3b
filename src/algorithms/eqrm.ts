/**
 * EQRM (empirical quantile risk minimization) minimizes the loss that a new domain will likely not exceed. The domains'
 * losses r_e are a sample of such losses. Their density is estimated with Gaussian kernels, and its α-quantile is
 * minimized (Algorithm 1 of the paper):
 *
 *     F(t) = mean_e Φ((t − r_e)/b),   b = 1.06·std(r)·E^(−1/5),   L = F⁻¹(α),
 *
 * after `burnInSteps` updates of plain ERM. The quantile is found by 32 bisection steps between min r + b·Φ⁻¹(α) and
 * max r + b·Φ⁻¹(α), in float64. A negative α means log(1 − quantile): L = mean_e (r_e + b·√(−2α)).
 *
 * Behaviour of public code, and the settings that change it:
 *
 * - `gradient`: `interpolated` is the gradient of DomainBed's bisection. Its result is (1 − t)·low + t·high with a
 *   constant   t, so, apart from the gradient through the bandwidth b, only the domains with the smallest and the
 *   largest loss receive   a gradient. `implicit` is the derivative of the quantile itself.
 * - `optimizerReset`: Adam is replaced by a new one with `quantileLr` at the update whose number equals `burnInSteps`.
 *   Random   draws of `burnInSteps` are not integers, so this never happens in DomainBed's random runs (`equal`).
 *   `reached` does it at   the first update from there on.
 */

import { scope } from "../engine/scope.js";
import { noGrad, type Tensor, tensor } from "../engine/tensor.js";
import { UsageError } from "../errors.js";
import { hparam, powerOfTen, uniform, variant } from "../hparams.js";
import { defineAlgorithm } from "./algorithm.js";
import { featuresByDomain, lossByDomain } from "./domain-parts.js";
import { variantOf } from "./variant.js";

const GRADIENTS = ["interpolated", "implicit"] as const;
const RESETS = ["equal", "reached"] as const;
const HALVINGS = 32;

export const eqrm = defineAlgorithm({
  id: "eqrm",
  title: "EQRM",
  paper:
    "Eastwood et al., Probable Domain Generalization via Quantile Risk Minimization, NeurIPS 2022, https://arxiv.org/abs/2207.09944",
  needsDomains: true,
  minDomains: 2,
  hparams: {
    /** α. */
    quantile: hparam(0.75, uniform(0.5, 0.99), { reference: "eqrm_quantile" }),
    burnInSteps: hparam(2500, powerOfTen(2.5, 3.5), { reference: "eqrm_burnin_iters" }),
    /** The learning rate after the burn-in. */
    quantileLr: hparam(1e-6, powerOfTen(-7, -5), { reference: "eqrm_lr" }),
    gradient: variant(GRADIENTS),
    optimizerReset: variant(RESETS),
  },

  build({ backbone, classifier, hparams: { quantile, burnInSteps, quantileLr, ...switches } }) {
    const gradient = variantOf("gradient of EQRM", switches.gradient, GRADIENTS);
    const reset = variantOf("optimizerReset of EQRM", switches.optimizerReset, RESETS);
    if (!(quantile < 1)) throw new UsageError(`EQRM quantile: expected a number below 1, got ${quantile}`);
    const resetAt = reset === "equal" ? burnInSteps : Math.ceil(burnInSteps);
    return {
      modules: { backbone, classifier },
      step(batch, { schedule }) {
        const { features } = featuresByDomain(backbone, batch);
        const logits = classifier.forward(features);
        const risks = lossByDomain(logits, batch);
        if (schedule((step) => step < burnInSteps)) return { loss: risks.mean(), features, logits };
        return {
          loss: riskQuantile(risks, quantile, gradient),
          features,
          logits,
          resetOptimizer: schedule((step) => step === resetAt) && { lr: quantileLr },
        };
      },
      predict: (x) => classifier.forward(backbone.forward(x)),
    };
  },
});

/** Returns the α-quantile of the density that is estimated from the domains' losses [domains], in float64. */
export function riskQuantile(risks: Tensor, alpha: number, gradient: (typeof GRADIENTS)[number]): Tensor {
  const r = risks.toDType("float64");
  // If all losses are equal, the bandwidth is zero. Below this floor its gradient is 0, where that of the square root
  // would be infinite.
  const deviation = r.variance(0).clamp(1e-30).sqrt();
  const width = deviation.mul(1.06 * r.rows ** -0.2);
  if (alpha < 0) return r.mean().add(width, { alpha: Math.sqrt(-2 * alpha) });
  const shift = width.mul(normalQuantile(alpha));
  const [low, high] = [r.min().add(shift), r.max().add(shift)];
  const cdf = (at: Tensor): Tensor => normalCdf(at.sub(r).div(width)).mean();
  const share = noGrad(() => bisect(low, high, (at) => cdf(at).gt(alpha)));
  const value = low.add(high.sub(low).mul(share));
  if (gradient === "interpolated") return value;
  const at = value.detach();
  const below = cdf(at);
  const density = noGrad(() =>
    at
      .sub(r)
      .div(width)
      .square()
      .div(-2)
      .exp()
      .mean()
      .div(width.mul(Math.sqrt(2 * Math.PI))),
  );
  return at.add(below.detach().sub(below).div(density));
}

/** Returns the position between `low` and `high`, as a fraction, from which on `isAbove` is true. */
function bisect(low: Tensor, high: Tensor, isAbove: (at: Tensor) => Tensor): Tensor {
  const length = high.sub(low);
  let share = low.detach().zerosLike();
  let step = 0.5;
  share = share.add(step);
  for (let i = 0; i < HALVINGS; i++) {
    step /= 2;
    const sign = isAbove(low.add(length.mul(share)))
      .toDType("float64")
      .mul(-2)
      .add(1);
    share = share.add(sign, { alpha: step });
  }
  return share;
}

const normalCdf = (x: Tensor): Tensor => x.div(Math.SQRT2).erf().add(1).div(2);

/** Φ⁻¹ */
const normalQuantile = (alpha: number): number =>
  scope(() =>
    tensor(2 * alpha - 1, { dtype: "float64" })
      .erfinv()
      .item(),
  ) * Math.SQRT2;
