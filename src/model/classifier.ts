/** The classifiers a run may have: one linear layer, or on request the reference's three. */

import { type Layer, Linear, ReLU, Sequential } from "../nn/index.js";
import type { ClassifierKind } from "./about.js";

/** A classifier without values. */
export function makeClassifier(kind: ClassifierKind, inputs: number, outputs: number): Layer {
  if (kind === "linear") return new Linear(inputs, outputs);
  const [half, quarter] = [Math.floor(inputs / 2), Math.floor(inputs / 4)];
  return new Sequential(
    new Linear(inputs, half),
    new ReLU(),
    new Linear(half, quarter),
    new ReLU(),
    new Linear(quarter, outputs),
  );
}
