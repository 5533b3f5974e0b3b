/**
 * Calls that once ended the process or never returned, each in its smallest form; all must throw an EngineError. Prints
 * the number of each before it is made, so that a crash names it.
 */

import { writeSync } from "node:fs";
import { conv2d, linalgSvd, linalgSvdvals, zeros } from "../../src/engine/ops.generated.js";
import { scope } from "../../src/engine/scope.js";
import { tensor } from "../../src/engine/tensor.js";
import { EngineError } from "../../src/errors.js";

const unbounded = () =>
  tensor([
    [Infinity, -1, Infinity, 5],
    [0, 0, 5, 2.5],
    [2.5, 2.5, 0.5, 1],
  ]);

const CALLS: (() => unknown)[] = [
  // Cut down to 32 bits these groups are 0, and libtorch divides by them.
  () => conv2d(zeros([2, 4, 6, 5]), zeros([6, 2, 3, 3]), null, 1, 1, 1, 2 ** 32),
  () => conv2d(zeros([2, 4, 6, 5]), zeros([6, 2, 3, 3]), null, 1, 1, 1, 0),
  () => zeros([1, 4, 4]).maxPool2d(0),
  // Two thousand million empty tensors.
  () => zeros([0]).chunk(2 ** 31 - 1),
  () =>
    zeros([1])
      .expand([2 ** 40])
      .split(1),
  // LAPACK goes round and round.
  () => linalgSvd(unbounded(), false),
  () => linalgSvd(unbounded().to({ dtype: "float64" }), true),
  () => linalgSvdvals(unbounded()),
];

for (const [i, call] of CALLS.entries()) {
  writeSync(1, `${i} `);
  try {
    scope(call);
    writeSync(1, "returned\n");
  } catch (error) {
    writeSync(1, error instanceof EngineError ? "refused\n" : `${error}\n`);
  }
}
