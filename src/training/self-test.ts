/**
 * Checks in a few minutes and without data whether training on a device is correct. It compares every algorithm with
 * the CPU, and replayed with normal updates, on a small network. It checks the custom kernels, resumed runs, and every
 * algorithm on a real network in the precision, memory format and captured form of `nudge train`, including the inputs
 * of its optimizers. It also checks the memory over two thousand updates. `nudge doctor --device cuda --full` runs it.
 */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { AlgorithmDefinition, Batch } from "../algorithms/algorithm.js";
import type { Draws } from "../algorithms/draws.js";
import { algorithms } from "../algorithms/index.js";
import { movingAverage } from "../averaging/index.js";
import { liveTensors, memory, synchronize } from "../engine/device.js";
import { cat, zeros } from "../engine/ops.generated.js";
import { Scope, scope } from "../engine/scope.js";
import { noGrad, type Tensor } from "../engine/tensor.js";
import { type Checkpointed, type Progress, readCheckpoint, writeCheckpoint } from "./checkpoint.js";
import { DevicePredictions } from "./device-predictions.js";
import { DeviceUpdates } from "./device-updates.js";
import type { Learner } from "./learner.js";
import { kernelChecks } from "./self-test-kernels.js";
import { trainOnArrays } from "./self-test-resident.js";
import {
  batchOf,
  deviceIndependentDraws,
  learnerOf,
  networkSetup,
  type Setup,
  SMALL,
  stepsFor,
} from "./self-test-setup.js";

/** The result of one check. */
export interface Check {
  readonly name: string;
  readonly ok: boolean;
  /** A description of the measurement. */
  readonly detail: string;
}

export type CheckResult = Omit<Check, "name">;

/**
 * The maximum distance between the weights of the small network, relative to the distance from their initial values.
 * Adam's first steps depend on the signs of the gradients, so if a gradient is only rounding error, another order of
 * summation can reverse a step.
 */
const TOLERANCE = 0.02;

/**
 * The same for a network in bfloat16. MobileNetV2 in float32 ends with a distance of 0.5 to 0.7, and one that receives
 * the batch of the next step with 0.7 to 0.8. A replay runs the same kernels, so only the order of sums may differ.
 */
const NETWORK_TOLERANCE = 0.2;

/**
 * The largest difference between the logits of a row at two places of a batch, as a part of the largest logit. The kernels
 * are the same, so that it is usually zero; bfloat16 has 8 bits.
 */
const PLACE_TOLERANCE = 2 ** -6;

/**
 * Algorithms that are stopped and resumed. Their state is that of Adam only; domain weights; running means; alternating
 * updates; two backbones with two optimizers.
 */
const RESUMED = ["erm", "group-dro", "mtl", "fishr", "dann", "mdsdi"];

/** Algorithms whose predictions are checked: by the trained network, by an average of it, and by two networks. */
const PREDICTED = ["erm", "erm-plus-plus", "mdsdi"];

/** Algorithms that train on arrays: without draws, with draws, with alternating updates. */
const ON_ARRAYS = ["erm", "mixup", "dann"];

/** The number of bytes by which equal tensors may differ, because the host's allocator rounds their sizes. */
const ROUNDING = 1000;

export interface SelfTestOptions {
  /** The number of updates for the memory check. */
  readonly updates?: number;
  /** The networks to train. A test on a CPU uses smaller ones. */
  readonly networks?: readonly Setup[];
  /** The algorithms to check. The default is all. */
  readonly algorithms?: readonly AlgorithmDefinition[];
  /** Runs only the checks whose name contains this text, in upper or lower case. */
  readonly only?: string;
}

/** Runs the checks. After a check that fails with an error, it continues as long as the device still works. */
export function* selfTest(device: string, options: SelfTestOptions = {}): Generator<Check> {
  const { only = "" } = options;
  for (const [name, check] of checksOf(device, options)) {
    if (!name.toLowerCase().includes(only.toLowerCase())) continue;
    let made: CheckResult;
    try {
      made = check();
    } catch (error) {
      const stillWorks = computes(device);
      yield {
        name,
        ok: false,
        detail: messageOf(error) + (stillWorks ? "" : `; ${device} computes no more: nothing after it was looked at`),
      };
      if (!stillWorks) return;
      continue;
    }
    yield { name, ...made };
  }
}

function* checksOf(device: string, options: SelfTestOptions): Generator<[name: string, check: () => CheckResult]> {
  const chosen = options.algorithms ?? Object.values(algorithms);
  yield* kernelChecks(device);
  const small = batchesOf(SMALL);
  for (const algorithm of chosen) {
    yield [
      `${algorithm.title}: as on the CPU`,
      () =>
        compareWeights(
          trainNormally(algorithm, small, device, deviceIndependentDraws),
          trainNormally(algorithm, small, "cpu", deviceIndependentDraws),
        ),
    ];
    yield [
      `${algorithm.title}: replayed as run plainly`,
      () => {
        const graph = trainReplayed(algorithm, small, device);
        return mustReplay(
          compareWeights(graph, trainNormally(algorithm, small, device), graph.note),
          graph.note,
          device,
        );
      },
    ];
  }
  const [first, ...others] = options.networks ?? [networkSetup(), networkSetup({ backbone: "resnet50" })];
  yield* networkChecks(device, first, chosen);
  for (const other of others) yield* networkChecks(device, other, [algorithms.erm]);
  for (const algorithm of chosen.filter(({ id }) => RESUMED.includes(id)))
    yield [
      `${algorithm.title}: resumed as left alone`,
      () => compareWeights(...trainResumed(algorithm, small, device)),
    ];
  for (const algorithm of chosen.filter(({ id }) => ON_ARRAYS.includes(id)))
    yield [
      `${algorithm.title}: batches gathered on the device, updates launched together`,
      () => {
        const [together, alone] = [true, false].map((each) => trainOnArrays(algorithm, device, each));
        const [got, expected] = [together, alone].map(({ weights }) => weights.flat());
        const off = Math.max(...got.map((value, i) => Math.abs(value - expected[i])));
        const detail = `weights differ by at most ${off.toExponential(1)} after ${alone.reading.count} updates`;
        return { ok: off <= 1e-4 && (together.isReplaying || device === "cpu"), detail };
      },
    ];
  yield ["memory over many updates", () => flatMemory(device, options.updates ?? 2000)];
}

/** Checks each algorithm on a real network: replayed against normal updates, and the inputs of its optimizers. */
function* networkChecks(
  device: string,
  setup: Setup,
  chosen: readonly AlgorithmDefinition[],
): Generator<[name: string, check: () => CheckResult]> {
  const { backbone, precision, channelsLast } = setup;
  const words = [backbone, precision, ...(channelsLast ? ["channels last"] : [])].join(", ");
  using made = new Scope();
  // Created once, because generating the pictures for a large network takes longer than training on them.
  const kept = new Map<number, Batch>();
  const batches: Batches = {
    setup,
    at(step) {
      let batch = kept.get(step);
      if (!batch) {
        batch = made.run(() => batchOf(setup, step, device));
        kept.set(step, batch);
      }
      return batch;
    },
  };
  for (const algorithm of chosen) {
    yield [
      `${algorithm.title}: ${words}`,
      () => {
        const graph = trainReplayed(algorithm, batches, device);
        const plain = trainNormally(algorithm, batches, device);
        const { ok, detail } = mustReplay(
          compareWeights(graph, plain, graph.note, NETWORK_TOLERANCE),
          graph.note,
          device,
        );
        const mismatches = [...new Set([...plain.mismatches, ...graph.mismatches])];
        if (mismatches.length === 0) return { ok, detail };
        return { ok: false, detail: `${detail}; an optimizer on a GPU would refuse that ${mismatches[0]}` };
      },
    ];
  }
  for (const algorithm of chosen.filter(({ id }) => PREDICTED.includes(id)))
    yield [`${algorithm.title}: predictions, ${words}`, () => comparePredictions(algorithm, batches, device)];
}

/** The batches of a setup by step. */
interface Batches {
  readonly setup: Setup;
  at(step: number, device: string): Batch;
}

const batchesOf = (setup: Setup): Batches => ({ setup, at: (step, device) => batchOf(setup, step, device) });

interface Trained {
  readonly start: Float64Array;
  readonly end: Float64Array;
  readonly updates: number;
  /** Inputs of the optimizers that a fused kernel would reject. */
  readonly mismatches: readonly string[];
}

function trainNormally(
  algorithm: AlgorithmDefinition,
  { setup, at }: Batches,
  device: string,
  drawsAt?: (step: number) => Draws,
): Trained {
  using learner = learnerOf(setup, algorithm, device, drawsAt);
  const start = weightsOf(learner);
  const steps = stepsFor(setup, algorithm);
  for (const step of steps) scope(() => learner.update(at(step, device).domains, step));
  return { start, end: weightsOf(learner), updates: steps.length, mismatches: mismatchesOf(learner) };
}

function trainReplayed(
  algorithm: AlgorithmDefinition,
  { setup, at }: Batches,
  device: string,
): Trained & { note: string } {
  const notes: string[] = [];
  using learner = learnerOf(setup, algorithm, device);
  using updates = new DeviceUpdates(learner, { device, say: (text) => notes.push(text) });
  const start = weightsOf(learner);
  const steps = stepsFor(setup, algorithm);
  for (const step of steps) scope(() => updates.update(at(step, device), step));
  updates.read();
  const note = noteOf(updates, notes);
  return { start, end: weightsOf(learner), updates: steps.length, note, mismatches: mismatchesOf(learner) };
}

/**
 * Compares replayed predictions with normal ones between replayed updates, on full batches and on smaller ones, and with
 * those of the same rows at other places of a batch, as in batches of several splits. Then the weights change after a
 * replay, which the check at the end of an evaluation must notice.
 */
function comparePredictions(algorithm: AlgorithmDefinition, { setup, at }: Batches, device: string): CheckResult {
  const notes: string[] = [];
  using learner = learnerOf(setup, algorithm, device);
  using updates = new DeviceUpdates(learner, { device });
  using predictions = new DevicePredictions(learner, { device, say: (text) => notes.push(text) });
  const steps = stepsFor(setup, algorithm);
  let [off, moved, areRight] = [0, 0, true];
  for (const step of steps)
    scope(() => {
      const batch = at(step, device);
      const x = step % 2 === 0 ? batch.x : batch.x.narrow(0, 0, batch.x.rows - 1);
      const plain = learner.predict(x);
      const distance = (logits: Tensor): number => logits.sub(plain).abs().max().item();
      moved = Math.max(moved, distance(turned(predictions.predict(turned(x, 1)), -1)) / plain.abs().max().item());
      off = Math.max(off, distance(predictions.predict(x)));
      areRight &&= predictions.areRight();
      updates.update(batch, step);
    });
  updates.read();
  const note = noteOf(predictions, notes);
  scope(() => {
    predictions.predict(at(0, device).x);
    for (const each of learner.stateDict().values()) if (each.dtype === "float32") noGrad(() => each.mul_(1.5));
  });
  const notices = !predictions.areRight();
  const detail = `logits differ by at most ${off.toExponential(1)} in ${steps.length} batches, at other places by ${moved.toExponential(1)} of the largest (${note})`;
  if (note === "replayed" && !notices) return { ok: false, detail: `${detail}; weights that changed were not noticed` };
  return mustReplay({ ok: off === 0 && moved <= PLACE_TOLERANCE && areRight, detail }, note, device);
}

/** Returns the rows of a tensor moved down by a number, the last ones first. */
function turned(x: Tensor, by: number): Tensor {
  const first = by > 0 ? x.rows - by : -by;
  return cat([x.narrow(0, first, x.rows - first), x.narrow(0, 0, first)]);
}

/**
 * Returns a run whose state is moved to a new learner halfway, after updates are replayed, and an uninterrupted run.
 */
function trainResumed(
  algorithm: AlgorithmDefinition,
  batches: Batches,
  device: string,
): [got: Trained, expected: Trained] {
  const { setup, at } = batches;
  const all = stepsFor(setup, algorithm);
  const half = all.length / 2;
  const run = ({ learner, followers }: Checkpointed, steps: readonly number[]): void => {
    using updates = new DeviceUpdates(learner, { device });
    for (const step of steps) {
      scope(() => updates.update(at(step, device), step));
      for (const follower of followers) follower.afterUpdate(step, learner.parameters());
    }
    updates.read();
  };
  using first = learnerOf(setup, algorithm, device);
  using firstAverage = movingAverage({ start: 0 });
  const start = weightsOf(first);
  run({ learner: first, followers: [firstAverage] }, all.slice(0, half));
  using second = learnerOf(setup, algorithm, device);
  using secondAverage = movingAverage({ start: 0 });
  throughCheckpoint(
    { learner: first, followers: [firstAverage] },
    { learner: second, followers: [secondAverage] },
    { next: half, stopped: false, logs: { sums: {}, count: 0 }, best: null },
  );
  run({ learner: second, followers: [secondAverage] }, all.slice(half));
  const got = { start, end: weightsOf(second), updates: all.length, mismatches: mismatchesOf(second) };
  return [got, trainReplayed(algorithm, batches, device)];
}

/** Writes the state of one run to a file and reads it into another. */
function throughCheckpoint(from: Checkpointed, to: Checkpointed, progress: Progress): void {
  const folder = mkdtempSync(join(tmpdir(), "nudge-doctor-"));
  try {
    const path = join(folder, "checkpoint.safetensors");
    writeCheckpoint(path, "doctor", progress, from);
    readCheckpoint(path, "doctor", to);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const mismatchesOf = (learner: Learner): string[] =>
  Object.values(learner.optimizers).flatMap((optimizer) => optimizer.mismatches());

/** Returns all parameters of a learner in one array. */
function weightsOf(learner: Learner): Float64Array {
  const all = scope(() => [...learner.parameters().values()].map((each) => each.detach().data() as ArrayLike<number>));
  const weights = new Float64Array(all.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const each of all) {
    weights.set(each, at);
    at += each.length;
  }
  return weights;
}

function distance(a: Float64Array, b: Float64Array): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += (a[i] - b[i]) ** 2;
  return Math.sqrt(sum);
}

function compareWeights(got: Trained, expected: Trained, note = "", tolerance = TOLERANCE): CheckResult {
  const off = distance(got.end, expected.end);
  const moved = distance(expected.end, expected.start);
  const apart = off === 0 ? 0 : off / moved;
  const detail = `weights ${apart.toExponential(1)} of their movement apart after ${expected.updates} updates${note && ` (${note})`}`;
  if (moved === 0) return { ok: false, detail: `no weight moved in ${expected.updates} updates` };
  return { ok: apart <= tolerance, detail };
}

/** Whether updates or predictions were replayed in the end; if not, the reason in the last note. */
const noteOf = ({ isReplaying }: { readonly isReplaying: boolean }, notes: readonly string[]): string =>
  isReplaying ? "replayed" : (notes.at(-1)?.split(": ").slice(-1)[0] ?? "plain");

/** A GPU replays the updates of every algorithm. If they run normally there, the capture has failed. */
const mustReplay = ({ ok, detail }: CheckResult, note: string, device: string): CheckResult => ({
  ok: ok && (note === "replayed" || device === "cpu"),
  detail,
});

/** Returns true if a device still works after an error. Some errors leave a GPU unusable. */
function computes(device: string): boolean {
  try {
    return scope(() => {
      const three = zeros([2, 2], { device }).add(3).max().item();
      synchronize(device);
      return three === 3;
    });
  } catch {
    return false;
  }
}

/** Returns the message of the first error. Freeing resources afterwards may also have failed and would hide it. */
function messageOf(error: unknown): string {
  if (error instanceof Error && "suppressed" in error) return messageOf(error.suppressed);
  return (error instanceof Error ? error.message : String(error)).split("\n")[0];
}

function flatMemory(device: string, count: number): CheckResult {
  using learner = learnerOf(SMALL, algorithms.erm, device);
  using updates = new DeviceUpdates(learner, { device });
  const settled = Math.min(100, Math.floor(count / 2));
  let before = { used: 0, tensors: 0 };
  for (let step = 0; step < count; step++) {
    scope(() => updates.update(batchOf(SMALL, step, device), step));
    if (step === settled) before = { used: memory(device).used, tensors: liveTensors() };
  }
  updates.read();
  const after = { used: memory(device).used, tensors: liveTensors() };
  const detail = `${after.used - before.used} bytes and ${after.tensors - before.tensors} tensors more after ${count} updates than after ${settled}`;
  const ok = after.used - before.used <= ROUNDING && after.tensors <= before.tensors;
  return { ok, detail };
}
