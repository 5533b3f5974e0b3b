/**
 * Calls that once ended the process or never returned, each in its smallest form; all must throw an EngineError. Prints
 * the number of each before it is made, so that a crash names it.
 */

import { writeSync } from "node:fs";
import { call } from "../../src/engine/operator.js";
import { conv2d, linalgSvd, linalgSvdvals, zeros } from "../../src/engine/ops.generated.js";
import { scope } from "../../src/engine/scope.js";
import { type Tensor, tensor } from "../../src/engine/tensor.js";
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
  // A refused allocation left the tensor larger than its storage, and reading it ended the process.
  () => {
    const x = tensor([1, 2, 3]);
    try {
      call("aten::resize_", x, [2 ** 36]);
    } catch {}
    call("aten::sum.", x);
    throw new EngineError("the tensor is as it was");
  },
  () => {
    const out = tensor([1, 2, 3]);
    try {
      call("aten::add.out", tensor([1]).expand([2 ** 36]), tensor([1]), { out });
    } catch {}
    if ((call("aten::sum.", out) as Tensor).item() !== 6) return;
    throw new EngineError("the tensor is as it was");
  },
  () => call("_stack", []),
  () => call("_local_scalar_dense", zeros([0])),
  () => call("native_channel_shuffle", zeros([1, 4, 0, 0]), 2),
  () => call("channel_shuffle", zeros([1, 4, 2, 0]), 2),
  () => call("batch_norm_update_stats", zeros([1, 0, 3]), null, null, 0.1),
  // LAPACK goes round and round.
  () => linalgSvd(unbounded(), false),
  () => linalgSvd(unbounded().to({ dtype: "float64" }), true),
  () => linalgSvdvals(unbounded()),
];

for (const [i, body] of CALLS.entries()) {
  writeSync(1, `${i} `);
  try {
    scope(body);
    writeSync(1, "returned\n");
  } catch (error) {
    writeSync(1, error instanceof EngineError ? "refused\n" : `${error}\n`);
  }
}
