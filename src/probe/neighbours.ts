/** The stored pictures of a classifier with neighbours (nn/probe-and-neighbours.ts), and its predictions from cached features. */

import { evenlyChosen } from "../data/evenly-chosen.js";
import { cat } from "../engine/ops.generated.js";
import { scope } from "../engine/scope.js";
import { noGrad, type Tensor, tensor } from "../engine/tensor.js";
import { neighbourVotes, storedNeighbours, unitRows } from "../nn/probe-and-neighbours.js";
import type { LabelledFeatures } from "./choose-strength.js";
import type { LinearFit } from "./logistic-regression.js";

export interface Neighbours {
  readonly rows: Tensor; // [stored, width], of length 1
  readonly labels: Tensor; // [stored, classes], one-hot
}

/** Every n-th picture of the domains, as many as may be stored. The tensors belong to the current scope. */
export function neighboursOf(domains: readonly LabelledFeatures[], classes: number): Neighbours {
  return noGrad(() =>
    scope(() => {
      const all = domains.flatMap(({ labels }) => Array.from(labels));
      const x = cat(domains.map((domain) => domain.x.toDType("float32")));
      const kept = evenlyChosen([...all.keys()], storedNeighbours(all.length, x.size(1)));
      const y = tensor(
        Int32Array.from(kept, (i) => all[i]),
        { device: x.device },
      );
      return { rows: unitRows(x.take(kept)), labels: y.toDType("int64").oneHot(classes).toDType("float32") };
    }),
  );
}

/** The logits of the exact probe, and ln of the votes of neighbours and of the mean of both, for rows of features. */
export function logitsWithNeighbours(
  { weight, bias }: Pick<LinearFit, "weight" | "bias">,
  { rows, labels }: Neighbours,
  x: Tensor,
): { probe: number[][]; neighbours: number[][]; both: number[][] } {
  return noGrad(() =>
    scope(() => {
      const probe = x.toDType(weight.dtype).matmul(weight.t()).add(bias);
      const votes = neighbourVotes(x.toDType("float32"), rows, labels);
      const both = probe.softmax(1).toDType("float32").add(votes).mul(0.5);
      const logs = (p: Tensor): number[][] => p.clamp(1e-12).log().toArray() as number[][];
      return { probe: probe.toArray() as number[][], neighbours: logs(votes), both: logs(both) };
    }),
  );
}
