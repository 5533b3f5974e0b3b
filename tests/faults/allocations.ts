/**
 * Everything that the engine does, with one allocation after the other failing (failing-allocations.cc): each time an error of ours
 * comes or none, nothing stays allocated, and the same work gives the same numbers afterwards. Prints what it counted.
 *
 *     node tests/support/run-typescript.mjs tests/faults/allocations.ts EVERY FIRST
 */

import { openSync, readSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { liveTensors, memory } from "../../src/engine/device.js";
import { call } from "../../src/engine/operator.js";
import { empty, zeros } from "../../src/engine/ops.generated.js";
import { Random } from "../../src/engine/random.js";
import { allOrNothing, scope } from "../../src/engine/scope.js";
import { grad, type Tensor, tensor, tensorFromFile } from "../../src/engine/tensor.js";
import { EngineError } from "../../src/errors.js";
import { BatchNorm2d, Conv2d, crossEntropy, Linear } from "../../src/nn/index.js";
import { Adam } from "../../src/optim/index.js";

const [every, first] = process.argv.slice(-2).map(Number);
const orders = openSync(process.env.NUDGE_FAILING_ALLOCATIONS!, "r+");
const order = (count: number, failing: number): void => {
  writeSync(orders, Buffer.from(BigInt64Array.of(BigInt(count), BigInt(failing)).buffer), 0, 16, 0);
};
const counted = (): number => {
  const bytes = new BigInt64Array(1);
  readSync(orders, bytes, 0, 8, 0);
  return Number(bytes[0]);
};

const file = openSync(join(tmpdir(), `nudge-allocations-${process.pid}`), "w+");
writeSync(file, new Float32Array(1024));

/** Pieces of work, each of which returns a number. */
const WORK: Record<string, () => number> = {
  "tensors from arrays": () => tensor([[1, 2, 3], [4, 5, 6]]).add(tensor(new Float32Array([1, 1, 1]))).sum().item(), // biome-ignore format: one line
  "large blocks, taken and kept": () => zeros([300_000]).add(1).mul(2).sum().item(),
  "operators by name": () =>
    (call("aten::addmm", zeros([4, 5]), zeros([4, 3]), zeros([3, 5])) as Tensor).add(1).sum().item(),
  "lists of tensors": () => (call("aten::cat", tensor([[1], [2]]).chunk(2), 0) as Tensor).sum().item(),
  "values and text": () => {
    const x = new Random(1).for("x").normal_(empty([8, 8]));
    return x.toNumbers().length + String(x).length + x.data().length + x.shape.length;
  },
  "a file": () => tensorFromFile(file, 0, "float32", [32, 32]).add(1).sum().item(),
  "an error": () => {
    try {
      tensor([[1, 2]]).matmul(tensor([[1, 2]]));
    } catch (error) {
      return String(error).length > 0 ? 1 : 0;
    }
    return 2;
  },
  gradients: () => {
    const x = tensor([1, 2, 3]).requiresGrad_();
    return grad([x.mul(x).sum()], [x])[0]
      .sum()
      .item();
  },
  "an update of a network": () => {
    const random = new Random(1);
    // As the learner does: what a constructor made before it failed has no owner.
    const net = allOrNothing(() => ({
      conv: new Conv2d(3, 4, { kernel: 3, stride: 2, padding: 1, bias: false }).initialize(random),
      norm: new BatchNorm2d(4).initialize(random),
      head: new Linear(4, 2).initialize(random),
    }));
    using conv = net.conv;
    using norm = net.norm;
    using head = net.head;
    using optimizer = new Adam([...conv.parameters(), ...norm.parameters(), ...head.parameters()], { lr: 0.1 });
    const x = random.for("x").normal_(empty([4, 3, 8, 8]));
    const y = tensor([0, 1, 0, 1], { dtype: "int64" });
    const loss = (): Tensor => crossEntropy(head.forward(norm.forward(conv.forward(x)).relu().mean([2, 3])), y);
    const before = loss();
    optimizer.zeroGrad();
    before.backward();
    optimizer.step();
    return before.item() + loss().item();
  },
};

const outcome = { allocations: 0, failed: 0, errors: 0, wrong: [] as string[] };
const held = (): string => `${liveTensors()} tensors, ${memory().used} bytes`;

for (const [name, body] of Object.entries(WORK)) {
  const work = (): number => scope(body);
  order(0, -1);
  for (let i = 0; i < 3; i++) work(); // operators are looked up once, and pools fill
  const expected = work();
  const before = held();
  order(0, 0);
  work();
  const allocations = counted();
  outcome.allocations += allocations;
  for (let failing = 1 + (first % every); failing <= allocations; failing += every) {
    writeSync(2, `${name}: allocation ${failing} of ${allocations}\n`);
    order(0, failing);
    try {
      work();
    } catch (error) {
      outcome.errors++;
      if (!(error instanceof EngineError)) outcome.wrong.push(`${name} ${failing}: ${error}`);
    }
    order(0, -1);
    outcome.failed++;
    if (held() !== before) outcome.wrong.push(`${name} ${failing}: ${held()}, before ${before}`);
    const again = work();
    if (again !== expected) outcome.wrong.push(`${name} ${failing}: ${again}, before ${expected}`);
  }
}
console.log(JSON.stringify(outcome));
