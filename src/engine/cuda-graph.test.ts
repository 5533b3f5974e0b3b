import { expect, test } from "vitest";
import { EngineError } from "../errors.js";
import { Adam } from "../optim/index.js";
import { CudaGraph } from "./cuda-graph.js";
import { defaultDevice, synchronize } from "./device.js";
import { loadNative } from "./load.js";
import { zeros } from "./ops.generated.js";
import { keep, scope } from "./scope.js";
import { tensor } from "./tensor.js";

const hasGpu = loadNative().info().cuda;
const NO_GPU = "skipped: there is no GPU";

test("without CUDA, a capture is a clear error, and the body does not run", ({ skip }) => {
  skip(hasGpu, "skipped: there is a GPU");
  let ran = false;
  const capture = () =>
    CudaGraph.capture("cuda:0", () => {
      ran = true;
    });
  expect(capture).toThrow(EngineError);
  expect(capture).toThrow("CUDA");
  expect(ran).toBe(false);
});

test("a replayed graph computes on what its inputs hold now", ({ skip }) => {
  skip(!hasGpu, NO_GPU);
  const device = defaultDevice();
  const x = keep(tensor([1, 2], { device }));
  const y = keep(zeros([2], { device }));
  const body = () => scope(() => void y.copy_(x.mul(3)));
  body();
  using graph = CudaGraph.capture(device, body);
  scope(() => x.copy_(tensor([5, 6])));
  graph.replay();
  synchronize(device);
  expect(y.toNumbers()).toEqual([15, 18]);
  for (const each of [x, y]) each.dispose();
});

test("a captured training step with Adam replays to the same weights as running it", ({ skip }) => {
  skip(!hasGpu, NO_GPU);
  const device = defaultDevice();
  const train = (captured: boolean): number[] => {
    const weight = keep(tensor([1, -2, 3], { device }).requiresGrad_());
    const target = keep(tensor([0, 0, 0], { device }));
    using optimizer = new Adam([weight], { lr: 0.1, weightDecay: 0.01 });
    const step = () =>
      scope(() => {
        optimizer.zeroGrad();
        weight.sub(target).square().sum().backward();
        optimizer.step();
      });
    for (let i = 0; i < 3; i++) step(); // the warm-up creates the state
    const graph = captured ? CudaGraph.capture(device, step) : undefined;
    for (let i = 0; i < 5; i++) {
      scope(() => target.copy_(tensor([i, 2 * i, -i])));
      if (graph) graph.replay();
      else step();
    }
    synchronize(device);
    const numbers = weight.toNumbers();
    expect(optimizer.state().numbers["0.0.steps"]).toBe(8);
    graph?.dispose();
    for (const each of [weight, target]) each.dispose();
    return numbers;
  };
  expect(train(true)).toEqual(train(false));
});

test("a body that throws ends the capture, and the device still works", ({ skip }) => {
  skip(!hasGpu, NO_GPU);
  const device = defaultDevice();
  expect(() =>
    CudaGraph.capture(device, () => {
      throw new Error("in the middle");
    }),
  ).toThrow("in the middle");
  expect(() => CudaGraph.capture(device, () => scope(() => tensor([1], { device }).item()))).toThrow(EngineError);
  scope(() => expect(tensor([1], { device }).add(1).item()).toBe(2));
});

test("a graph that was disposed of does not replay", ({ skip }) => {
  skip(!hasGpu, NO_GPU);
  const device = defaultDevice();
  const x = keep(zeros([1], { device }));
  const graph = CudaGraph.capture(device, () => void x.add_(1));
  graph.dispose();
  graph.dispose();
  expect(() => graph.replay()).toThrow("this graph has been freed");
  x.dispose();
});
