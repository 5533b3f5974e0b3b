/**
 * Trains a small convolutional network with Adam for STEPS steps and prints what it held as it went; with THROW_EVERY, a
 * step now and then fails half-way, at another place each time.
 *
 *     node --expose-gc tests/support/run-typescript.mjs tests/leaks/train-small-net.ts STEPS THROW_EVERY
 */

import { liveTensors, memory } from "../../src/engine/device.js";
import { empty } from "../../src/engine/ops.generated.js";
import { Random } from "../../src/engine/random.js";
import { scope } from "../../src/engine/scope.js";
import { tensor } from "../../src/engine/tensor.js";
import { BatchNorm2d, Conv2d, convNorm, crossEntropy, Linear, Module } from "../../src/nn/index.js";
import { Adam } from "../../src/optim/index.js";

const [steps, throwEvery] = process.argv.slice(-2).map(Number);
const collect = (globalThis as { gc?: () => void }).gc!;

class Net extends Module {
  readonly conv = new Conv2d(3, 8, { kernel: 3, stride: 2, padding: 1, bias: false });
  readonly norm = new BatchNorm2d(8);
  readonly head = new Linear(8, 5);

  /** `fail` may throw between any two layers. */
  forward(x: ReturnType<typeof tensor>, fail: (place: number) => void) {
    const maps = convNorm(this.conv, this.norm, x).relu();
    fail(0);
    const features = maps.mean([2, 3]);
    fail(1);
    return this.head.forward(features);
  }
}

class Planned extends Error {}

function run(): { failures: number; samples: object[] } {
  const random = new Random(1);
  using net = new Net().initialize(random);
  using optimizer = new Adam(net.parameters(), { lr: 1e-3, weightDecay: 1e-4 });
  const samples: object[] = [];
  let failures = 0;
  for (let step = 0; step < steps; step++) {
    const failing = throwEvery > 0 && step % throwEvery === throwEvery - 1;
    const place = Math.floor(step / throwEvery) % 4;
    const fail = (here: number) => {
      if (failing && here === place) throw new Planned();
    };
    try {
      scope(() => {
        const x = random.for(step).normal_(empty([16, 3, 32, 32]));
        const y = tensor(
          Array.from({ length: 16 }, (_, i) => (i + step) % 5),
          { dtype: "int64" },
        );
        const loss = crossEntropy(net.forward(x, fail), y);
        fail(2);
        optimizer.zeroGrad();
        loss.backward();
        fail(3);
        optimizer.step();
      });
    } catch (error) {
      if (!(error instanceof Planned)) throw error;
      failures++;
    }
    if (step % 50 === 49) {
      collect();
      samples.push({ step, live: liveTensors(), used: memory().used, rss: process.memoryUsage.rss() });
    }
  }
  return { failures, samples };
}

const held = () => ({ live: liveTensors(), used: memory().used });
const before = held();
const { failures, samples } = run();
console.log(JSON.stringify({ before, after: held(), failures, samples }));
