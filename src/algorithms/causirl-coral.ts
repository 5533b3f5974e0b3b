/**
 * CausIRL with the distance in mean and covariance (coral.ts) between the two sides of a random split; see causirl.ts.
 */

import type { Tensor } from "../engine/tensor.js";
import { defineAlgorithm } from "./algorithm.js";
import { buildCausirl, type Cut, causirlHparams } from "./causirl.js";

export const causirlCoral = defineAlgorithm({
  id: "causirl-coral",
  title: "CausIRL-CORAL",
  paper:
    "Chevalley, Bunne, Krause & Bauer, Invariant Causal Mechanisms through Distribution Matching, 2022, https://arxiv.org/abs/2206.11646",
  needsDomains: true,
  hparams: causirlHparams,
  build: (context) => buildCausirl(context, cutMomentDistance),
});

/**
 * Returns the distance of the two sides in mean and covariance, without computing the covariance matrices; see
 * coral.ts.
 */
export function cutMomentDistance(z: Tensor, { first, second, firstCount, secondCount }: Cut): Tensor {
  const side = (own: Tensor, count: Tensor) => {
    const mean = z.mul(own).sum(0, true).div(count); // [1, width]
    const scale = own.div(count.sub(1).clamp(1).sqrt()); // [n, 1]
    return { mean, centred: z.sub(mean).mul(scale).toDType("float64") };
  };
  const [x, y] = [side(first, firstCount), side(second, secondCount)];
  const inner = (a: Tensor, b: Tensor): Tensor => a.mm(b.t()).square().sum();
  const covariances = inner(x.centred, x.centred)
    .add(inner(y.centred, y.centred))
    .sub(inner(x.centred, y.centred), { alpha: 2 });
  const [, width] = z.shape;
  return x.mean
    .sub(y.mean)
    .square()
    .mean()
    .add(covariances.div(width * width).toDType(z.dtype));
}
