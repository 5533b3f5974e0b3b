/** CausIRL with the maximum mean discrepancy (mmd.ts) between the two sides of a random split; see causirl.ts. */

import type { Tensor } from "../engine/tensor.js";
import { defineAlgorithm } from "./algorithm.js";
import { buildCausirl, type Cut, causirlHparams } from "./causirl.js";
import { kernels } from "./mmd.js";

export const causirlMmd = defineAlgorithm({
  id: "causirl-mmd",
  title: "CausIRL-MMD",
  paper:
    "Chevalley, Bunne, Krause & Bauer, Invariant Causal Mechanisms through Distribution Matching, 2022, https://arxiv.org/abs/2206.11646",
  needsDomains: true,
  hparams: causirlHparams,
  build: (context) => buildCausirl(context, cutDiscrepancy),
});

/**
 * Returns vᵀKv, where v is 1/n_F on one side and −1/n_S on the other. This is all three means of the discrepancy in one
 * expression.
 */
export function cutDiscrepancy(z: Tensor, { first, second, firstCount, secondCount }: Cut): Tensor {
  const weights = first.div(firstCount).sub(second.div(secondCount)); // [n, 1]
  return kernels(z, z).mul(weights).mul(weights.t()).sum();
}
