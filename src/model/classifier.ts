/** The available classifiers: one linear layer, that with a vote of stored pictures, or on request DomainBed's three layers. */

import { type Layer, Linear, nonlinearClassifier, ProbeAndNeighbours } from "../nn/index.js";
import type { ClassifierKind } from "./about.js";

/** A classifier without values. `stored` is the number of stored pictures of `neighbours`. */
export function makeClassifier(kind: ClassifierKind, inputs: number, outputs: number, stored = 1): Layer {
  if (kind === "neighbours") return new ProbeAndNeighbours(inputs, outputs, stored);
  return kind === "linear" ? new Linear(inputs, outputs) : nonlinearClassifier(inputs, outputs);
}
