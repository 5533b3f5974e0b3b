/**
 * DomainBed's nonlinear classifier: three linear layers, where each hidden layer has half as many units as its input.
 */

import { ReLU } from "./activation.js";
import { Linear } from "./linear.js";
import { Sequential } from "./module.js";

export function nonlinearClassifier(inputs: number, outputs: number): Sequential {
  const [half, quarter] = [Math.floor(inputs / 2), Math.floor(inputs / 4)];
  return new Sequential(
    new Linear(inputs, half),
    new ReLU(),
    new Linear(half, quarter),
    new ReLU(),
    new Linear(quarter, outputs),
  );
}
