import { beforeEach, expect, test, vi } from "vitest";
import { algorithmNamed } from "../algorithms/index.js";
import { backboneNamed } from "../backbones/index.js";
import { keep, scope } from "../engine/scope.js";
import { type Tensor, tensor } from "../engine/tensor.js";
import { EngineError } from "../errors.js";
import { paddedRows } from "../nn/padded-rows.js";
import { Learner } from "./learner.js";

/** Stands in for a CUDA graph: a replay computes the captured product again, in the same memory. */
const device = vi.hoisted(() => ({ replay: () => {}, fails: false, replays: 0 }));
vi.mock("../engine/cuda-graph.js", () => ({
  CudaGraph: {
    capture(_: string, body: () => void) {
      if (device.fails) throw new EngineError("operation not permitted when stream is capturing", "capture");
      body();
      const { replay } = device;
      return {
        replay() {
          device.replays++;
          replay();
        },
        dispose() {},
      };
    },
  },
}));

const { DevicePredictions } = await import("./device-predictions.js");

let weight: Tensor;
const learner = {
  padsPredictions: true,
  rowsOfPrediction: () => 3,
  predict(x: Tensor): Tensor {
    const used = weight; // the memory that a captured pass reads
    const input = paddedRows(x, 3);
    const logits = input.mul(used).narrow(0, 0, x.rows);
    if (input === x) device.replay = () => scope(() => void logits.copy_(x.mul(used)));
    return logits;
  },
} as unknown as Learner;

const notes: string[] = [];
const make = (): InstanceType<typeof DevicePredictions> =>
  new DevicePredictions(learner, { device: "cuda:0", say: (text) => notes.push(text) });
const predicted = (predictions: InstanceType<typeof DevicePredictions>, ...values: number[]) =>
  scope(() => predictions.predict(tensor(values.map((value) => [value]))).toNumbers());

beforeEach(() => {
  Object.assign(device, { fails: false, replays: 0 });
  notes.length = 0;
  weight = keep(tensor([10]));
});

test("after two normal predictions they are replayed with the weights of the moment, also for fewer rows", () => {
  using predictions = make();
  for (const _ of [1, 2]) expect(predicted(predictions, 1, 2, 3)).toEqual([10, 20, 30]);
  expect([predictions.isReplaying, device.replays]).toEqual([false, 0]);
  expect(predicted(predictions, 4, 5, 6)).toEqual([40, 50, 60]);
  weight.mul_(2);
  expect(predicted(predictions, 1, 2, 3)).toEqual([20, 40, 60]);
  expect(predicted(predictions, 7)).toEqual([140]);
  expect(predictions.areRight()).toBe(true);
  expect([predictions.isReplaying, device.replays, notes]).toEqual([true, 3, []]);
});

test("a weight that was replaced is noticed at the end of the evaluation, which is then repeated", () => {
  using predictions = make();
  for (const _ of [1, 2, 3, 4]) predicted(predictions, 1, 2, 3);
  const { areRight, mixed } = predictions.forEvaluation();
  weight = keep(tensor([-1]));
  expect([areRight(), mixed]).toEqual([true, true]); // nothing was replayed since
  expect(predicted(predictions, 4)).toEqual([40]);
  expect(areRight()).toBe(false);
  expect(predictions.isReplaying).toBe(false);
  expect(predicted(predictions, 4)).toEqual([-4]);
  expect(areRight()).toBe(true);
  expect(notes).toEqual([
    "note: predictions are not replayed as a CUDA graph: a replayed prediction differs from a normal one",
  ]);
});

test("logits that are not finite are no reason to stop replaying", () => {
  using predictions = make();
  for (const _ of [1, 2, 3]) predicted(predictions, 1, 2, 3);
  expect(predicted(predictions, 1, Number.NaN, 3)).toEqual([10, Number.NaN, 30]);
  expect([predictions.areRight(), predictions.isReplaying, notes]).toEqual([true, true, []]);
});

test("each shape that was replayed is checked", () => {
  using predictions = make();
  const predictWide = (): number[] => scope(() => predictions.predict(tensor([[1, 2]])).toNumbers());
  for (const _ of [1, 2, 3]) predicted(predictions, 1, 2, 3);
  weight = keep(tensor([-1]));
  for (const _ of [1, 2, 3]) expect(predictWide()).toEqual([-1, -2]); // captured with the new weight
  expect(predictions.areRight()).toBe(false); // the first shape was captured with the old one
});

test("what was replayed is still checked if a later shape cannot be captured", () => {
  using predictions = make();
  for (const _ of [1, 2, 3]) predicted(predictions, 1, 2, 3);
  weight = keep(tensor([-1]));
  predicted(predictions, 1, 2, 3); // replayed with the old weight
  device.fails = true;
  for (const _ of [1, 2, 3]) scope(() => predictions.predict(tensor([[1, 2]])));
  expect(notes).toHaveLength(1);
  expect([predictions.isReplaying, predictions.areRight()]).toEqual([false, false]);
});

test("predictions that cannot be captured are made normally, and the log says why once", () => {
  device.fails = true;
  using predictions = make();
  for (const _ of [1, 2, 3, 4]) expect(predicted(predictions, 1, 2)).toEqual([10, 20]);
  expect(notes).toEqual([
    "note: predictions are not replayed as a CUDA graph: it transfers data between CPU and GPU, or draws random numbers of its own",
  ]);
});

test("a batch is not padded if its predictions depend on each other", () => {
  const padded = (algorithm: string, hparams: object = {}): boolean => {
    const definition = algorithmNamed(algorithm);
    const channels = 3 + (definition.backbone?.extraChannels ?? 0);
    const makeBackbone = () => backboneNamed("small-cnn").build({ inputShape: [channels, 16, 16] });
    using made = new Learner({ algorithm: definition, makeBackbone, classes: 2, domains: 2, hparams: { ...hparams } });
    return made.padsPredictions;
  };
  expect([padded("erm"), padded("mtl"), padded("mtl", { noise: false }), padded("arm")]).toEqual([
    ...[true, true, false, false],
  ]);
});
