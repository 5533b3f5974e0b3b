/**
 * Updates whose batches are gathered on the device give the same weights and logs as updates with batches from the host.
 * The CUDA graph is replaced by a mock that runs its body again at each replay.
 */
import { expect, test, vi } from "vitest";
import { algorithms } from "../algorithms/index.js";
import type { ArrayDataset } from "../data/dataset.js";
import { Loader } from "../data/loader.js";
import { splitDataset } from "../data/split.js";
import { keyedRandom } from "../engine/philox.js";
import { scope } from "../engine/scope.js";
import { DeviceUpdates, type Reading } from "./device-updates.js";
import { stepsOfBlock } from "./row-feed.js";
import { DOMAINS, learnerOf, SMALL } from "./self-test-setup.js";

const launches = vi.hoisted(() => ({ turns: 0, replays: 0 }));
vi.mock("../engine/cuda-graph.js", () => ({
  CudaGraph: class {
    constructor(private readonly body: () => void) {}
    static capture(_device: string, body: () => void) {
      return new this(body);
    }
    replay(times = 1): void {
      launches.turns++;
      launches.replays += times;
      for (let i = 0; i < times; i++) this.body();
    }
    dispose(): void {}
  },
}));

const random = keyedRandom(0, "samples");
const samples = Array.from({ length: DOMAINS * 20 }, () =>
  Uint8Array.from({ length: 3 * 8 * 8 }, () => random.integer(256)),
);
const dataset: ArrayDataset = {
  id: "test",
  title: "test",
  kind: "arrays",
  root: null,
  hasDomains: true,
  inputShape: [3, 8, 8],
  augmentable: false,
  options: {},
  notes: [],
  classes: ["a", "b", "c", "d"],
  domains: Array.from({ length: DOMAINS }, (_, d) => ({
    name: `d${d}`,
    count: 20,
    labels: Int32Array.from({ length: 20 }, (_, i) => (i + d) % 4),
    read: (i) => samples[d * 20 + i],
  })),
};

const loaderFor = (): Loader =>
  new Loader({
    dataset,
    split: splitDataset(dataset.domains, { trialSeed: 0 }),
    seed: 5,
    trainDomains: dataset.domains.map(({ name }) => name),
    batchSize: SMALL.rows,
  });

interface Trained {
  readonly weights: readonly (readonly number[])[];
  readonly reading: Reading;
}

/** Trains in blocks of 7 steps. */
async function trained(id: string, together: boolean): Promise<Trained> {
  const loader = loaderFor();
  using learner = learnerOf(SMALL, algorithms[id], "cpu");
  using updates = new DeviceUpdates(learner, { device: "cpu" });
  for (let step = 0; step < 35; step += 7) {
    if (together) updates.updateMany(loader.resident!, step, 7);
    else
      for (let each = step; each < step + 7; each++) {
        using batch = await loader.batch(each);
        const domains = batch.domains.map(({ start, count }) => ({
          x: batch.x.narrow(0, start, count),
          y: batch.y.narrow(0, start, count),
        }));
        scope(() => updates.update({ domains, x: batch.x, y: batch.y, labels: batch.labels }, each));
      }
  }
  const weights = [...learner.parameters().values()].map((each) => each.detach().toNumbers());
  return { weights, reading: updates.read() };
}

// Without draws; with draws at each update; with alternating updates; with numbers that the host computes from labels.
for (const id of ["erm", "mixup", "dann", "self-reg"] as const)
  test(`${id}: several updates together are those of one after the other, to the last bit`, async () => {
    expect(await trained(id, true)).toEqual(await trained(id, false));
  });

test("updates of one kind without draws are launched together", async () => {
  Object.assign(launches, { turns: 0, replays: 0 });
  await trained("erm", true);
  // The penalty begins at step 8. Three updates of each kind run normally.
  expect(launches).toEqual({ turns: 6, replays: 35 - 3 - 3 });
});

test("a block of rows is small enough to be copied at once", () => {
  expect([stepsOfBlock(64), stepsOfBlock(320), stepsOfBlock(1e6)]).toEqual([100, 51, 1]);
});
