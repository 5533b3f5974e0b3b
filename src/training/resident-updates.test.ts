/**
 * Updates whose batches are gathered on the device give the same weights and logs as updates with batches from the host.
 * The CUDA graph is replaced by a mock that runs its body again at each replay.
 */
import { expect, test, vi } from "vitest";
import { algorithms } from "../algorithms/index.js";
import { stepsOfBlock } from "./row-feed.js";
import { trainOnArrays } from "./self-test-resident.js";

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

// Without draws; with draws at each update; with alternating updates; with numbers that the host computes from labels.
for (const id of ["erm", "mixup", "dann", "self-reg"] as const)
  test(`${id}: several updates together are those of one after the other, to the last bit`, () => {
    const together = trainOnArrays(algorithms[id], "cpu", true);
    expect(together.isReplaying).toBe(true);
    expect(together).toEqual(trainOnArrays(algorithms[id], "cpu", false));
  });

test("updates of one kind without draws are launched together", () => {
  Object.assign(launches, { turns: 0, replays: 0 });
  trainOnArrays(algorithms.erm, "cpu", true);
  // The penalty begins at step 8. Three updates of each kind run normally.
  expect(launches).toEqual({ turns: 6, replays: 35 - 3 - 3 });
});

test("a block of rows is small enough to be copied at once", () => {
  expect([stepsOfBlock(64), stepsOfBlock(320), stepsOfBlock(1e6)]).toEqual([100, 51, 1]);
});
