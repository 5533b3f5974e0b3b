/**
 * A linear classifier averaged with a vote of the nearest training pictures, half each:
 *
 *     p(x) = ½ softmax(W x + b) + ½ Σⱼ wⱼ(x) yⱼ / Σⱼ wⱼ(x),   wⱼ(x) = max(0, cos(x, xⱼ) − cos(x, x₍ₖ₊₁₎))
 *
 * The weights are Dudani's (The Distance-Weighted k-Nearest-Neighbor Rule, 1976) with the cosine: they fall to zero at
 * the next neighbour after the k-th, so they have no scale to choose. The output is ln p, so that a softmax of it is p.
 */

import { zeros } from "../engine/ops.generated.js";
import type { Tensor } from "../engine/tensor.js";
import { Linear } from "./linear.js";
import { StateBuffer } from "./module.js";

/** The number of neighbours that vote, at least 3: as many as a class has pictures on average, up to 20. */
const MOST_VOTES = 20;
const FEWEST_VOTES = 3;
/** The largest number of stored pictures, and of their bytes: with more, every n-th picture is stored. */
const MOST_STORED = 10_000;
const MOST_BYTES = 64 * 2 ** 20;
/** The smallest probability, so that its logarithm is finite. */
const LEAST = 1e-12;

/** The number of training pictures that a model file stores. */
export const storedNeighbours = (pictures: number, width: number): number =>
  Math.max(1, Math.min(pictures, MOST_STORED, Math.floor(MOST_BYTES / (4 * width))));

/** The number of neighbours that vote. */
export const votingNeighbours = (stored: number, classes: number): number =>
  Math.min(stored - 1, Math.max(FEWEST_VOTES, Math.min(MOST_VOTES, Math.round(stored / classes))));

/** Rows of length 1; a row of zeros stays zero. */
export const unitRows = (x: Tensor): Tensor => x.div(x.norm(1, { keepdim: true }).clamp(LEAST));

/** The vote of the nearest stored pictures, [n, classes]: `rows` have length 1, and `labels` are one-hot. */
export function neighbourVotes(x: Tensor, rows: Tensor, labels: Tensor): Tensor {
  const cosines = unitRows(x).matmul(rows.t()); // [n, stored]
  const voting = votingNeighbours(rows.rows, labels.size(1));
  const [nearest] = cosines.topk(voting + 1, 1);
  const votes = cosines
    .sub(nearest.narrow(1, voting, 1))
    .relu()
    .matmul(labels);
  return votes.div(votes.sum(1, true).clamp(LEAST));
}

export class ProbeAndNeighbours extends Linear {
  /** Features of training pictures, scaled to length 1, and their classes, one-hot. */
  readonly neighbours: StateBuffer; // [stored, inputs]
  readonly labels: StateBuffer; // [stored, outputs]

  constructor(inputs: number, outputs: number, stored: number) {
    super(inputs, outputs);
    this.neighbours = new StateBuffer(zeros([stored, inputs]));
    this.labels = new StateBuffer(zeros([stored, outputs]));
  }

  override forward(x: Tensor): Tensor {
    const linear = super.forward(x).toDType("float32").softmax(1);
    const votes = neighbourVotes(x.toDType("float32"), this.neighbours, this.labels);
    return linear.add(votes).mul(0.5).clamp(LEAST).log();
  }
}
