/** The available classifiers: one linear layer, or on request DomainBed's three layers. */

import { type Layer, Linear, nonlinearClassifier } from "../nn/index.js";
import type { ClassifierKind } from "./about.js";

/** A classifier without values. */
export function makeClassifier(kind: ClassifierKind, inputs: number, outputs: number): Layer {
  return kind === "linear" ? new Linear(inputs, outputs) : nonlinearClassifier(inputs, outputs);
}
