/**
 * Whether training on a device can be trusted, without data and in a few minutes: every algorithm against the CPU and replayed
 * against plain updates on a small network; kernels of our own against what they stand for; resumed runs; every algorithm on a network that people train, in the precision, layout and captured
 * form of `nudge train`, with what its optimizers are given; and memory over two thousand updates. `nudge doctor --device cuda --full`
 * runs it.
 */

import type { AlgorithmDefinition, Batch } from "../algorithms/algorithm.js";
import type { Draws } from "../algorithms/draws.js";
import { algorithms } from "../algorithms/index.js";
import { liveTensors, memory, synchronize } from "../engine/device.js";
import { zeros } from "../engine/ops.generated.js";
import { Scope, scope } from "../engine/scope.js";
import { DeviceUpdates } from "./device-updates.js";
import type { Learner } from "./learner.js";
import { kernelChecks } from "./self-test-kernels.js";
import { batchOf, drawsAnywhere, learnerOf, networkSetup, type Setup, SMALL } from "./self-test-setup.js";

/** One thing that was looked at. */
export interface Check {
  readonly name: string;
  readonly ok: boolean;
  /** What was measured, for people. */
  readonly detail: string;
}

export type CheckResult = Omit<Check, "name">;

/**
 * How far the weights of the small network may be apart, relative to how far they moved. Adam's first steps go by the gradients'
 * signs, so where a gradient is all rounding, another order of summing turns a step round.
 */
const TOLERANCE = 0.02;

/**
 * The same for a network in bfloat16. MobileNetV2 computed in float32 instead ends 0.5 to 0.7 apart, one that is given the batch of
 * the next step 0.7 to 0.8; a replay runs the same kernels, so only sums in another order may differ.
 */
const NETWORK_TOLERANCE = 0.2;

/** What is stopped and resumed: no state but Adam's; weights of domains; running means; turns; two backbones with two optimizers. */
const RESUMED = ["erm", "group-dro", "mtl", "fishr", "dann", "mdsdi"];

/** Bytes by which the same tensors may differ: the host's allocator rounds their sizes. */
const ROUNDING = 1000;

export interface SelfTestOptions {
  /** Updates over which memory is watched. */
  readonly updates?: number;
  /** In the place of the networks that are trained on a GPU: a test on a CPU takes smaller ones. */
  readonly networks?: readonly Setup[];
  /** Which algorithms; all by default. */
  readonly algorithms?: readonly AlgorithmDefinition[];
}

/** Makes every check in turn. After one that fails with an error, the others follow as long as the device still computes. */
export function* selfTest(device: string, options: SelfTestOptions = {}): Generator<Check> {
  for (const [name, check] of checksOf(device, options)) {
    let made: CheckResult;
    try {
      made = check();
    } catch (error) {
      const goesOn = computes(device);
      yield {
        name,
        ok: false,
        detail: messageOf(error) + (goesOn ? "" : `; ${device} computes no more: nothing after it was looked at`),
      };
      if (!goesOn) return;
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
      () => compared(plainly(algorithm, small, device, drawsAnywhere), plainly(algorithm, small, "cpu", drawsAnywhere)),
    ];
    yield [
      `${algorithm.title}: replayed as run plainly`,
      () => {
        const graph = replayed(algorithm, small, device);
        return mustReplay(compared(graph, plainly(algorithm, small, device), graph.note), graph.note, device);
      },
    ];
  }
  const [first, ...others] = options.networks ?? [networkSetup(), networkSetup({ backbone: "resnet50" })];
  yield* networkChecks(device, first, chosen);
  for (const other of others) yield* networkChecks(device, other, [algorithms.erm]);
  for (const algorithm of chosen.filter(({ id }) => RESUMED.includes(id)))
    yield [`${algorithm.title}: resumed as left alone`, () => compared(...resumed(algorithm, small, device))];
  yield ["memory over many updates", () => flatMemory(device, options.updates ?? 2000)];
}

/** Each algorithm on a network as it is trained: replayed against plain updates, and what its optimizers are given. */
function* networkChecks(
  device: string,
  setup: Setup,
  chosen: readonly AlgorithmDefinition[],
): Generator<[name: string, check: () => CheckResult]> {
  const { backbone, precision, channelsLast } = setup;
  const words = [backbone, precision, ...(channelsLast ? ["channels last"] : [])].join(", ");
  using made = new Scope();
  // Made once: the pictures of a large network take longer to make up than to train on.
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
        const graph = replayed(algorithm, batches, device);
        const plain = plainly(algorithm, batches, device);
        const { ok, detail } = mustReplay(compared(graph, plain, graph.note, NETWORK_TOLERANCE), graph.note, device);
        const mismatches = [...new Set([...plain.mismatches, ...graph.mismatches])];
        if (mismatches.length === 0) return { ok, detail };
        return { ok: false, detail: `${detail}; an optimizer on a GPU would refuse that ${mismatches[0]}` };
      },
    ];
  }
}

/** The batches of a setup, by the step. */
interface Batches {
  readonly setup: Setup;
  at(step: number, device: string): Batch;
}

const batchesOf = (setup: Setup): Batches => ({ setup, at: (step, device) => batchOf(setup, step, device) });

interface Trained {
  readonly start: Float64Array;
  readonly end: Float64Array;
  readonly updates: number;
  /** What the optimizers were given that a fused kernel would refuse. */
  readonly mismatches: readonly string[];
}

function plainly(
  algorithm: AlgorithmDefinition,
  { setup, at }: Batches,
  device: string,
  drawsAt?: (step: number) => Draws,
): Trained {
  using learner = learnerOf(setup, algorithm, device, drawsAt);
  const start = weightsOf(learner);
  for (const step of setup.steps) scope(() => learner.update(at(step, device).domains, step));
  return { start, end: weightsOf(learner), updates: setup.steps.length, mismatches: mismatchesOf(learner) };
}

function replayed(algorithm: AlgorithmDefinition, { setup, at }: Batches, device: string): Trained & { note: string } {
  const notes: string[] = [];
  using learner = learnerOf(setup, algorithm, device);
  using updates = new DeviceUpdates(learner, { device, say: (text) => notes.push(text) });
  const start = weightsOf(learner);
  for (const step of setup.steps) scope(() => updates.update(at(step, device), step));
  updates.read();
  const note = updates.isReplaying ? "replayed" : (notes.at(-1)?.split(": ").slice(-1)[0] ?? "plain");
  return { start, end: weightsOf(learner), updates: setup.steps.length, note, mismatches: mismatchesOf(learner) };
}

/** A run whose state is put into a new learner half-way, once updates are replayed, and one that was left alone. */
function resumed(algorithm: AlgorithmDefinition, batches: Batches, device: string): [got: Trained, expected: Trained] {
  const { setup, at } = batches;
  const half = setup.steps.length / 2;
  const run = (learner: Learner, steps: readonly number[]): void => {
    using updates = new DeviceUpdates(learner, { device });
    for (const step of steps) scope(() => updates.update(at(step, device), step));
    updates.read();
  };
  using first = learnerOf(setup, algorithm, device);
  const start = weightsOf(first);
  run(first, setup.steps.slice(0, half));
  using second = learnerOf(setup, algorithm, device);
  second.loadState(first.state());
  run(second, setup.steps.slice(half));
  const got = { start, end: weightsOf(second), updates: setup.steps.length, mismatches: mismatchesOf(second) };
  return [got, replayed(algorithm, batches, device)];
}

const mismatchesOf = (learner: Learner): string[] =>
  Object.values(learner.optimizers).flatMap((optimizer) => optimizer.mismatches());

/** The parameters of a learner, one after the other. */
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

function compared(got: Trained, expected: Trained, note = "", tolerance = TOLERANCE): CheckResult {
  const off = distance(got.end, expected.end);
  const moved = distance(expected.end, expected.start);
  const apart = off === 0 ? 0 : off / moved;
  const detail = `weights ${apart.toExponential(1)} of their movement apart after ${expected.updates} updates${note && ` (${note})`}`;
  if (moved === 0) return { ok: false, detail: `no weight moved in ${expected.updates} updates` };
  return { ok: apart <= tolerance, detail };
}

/** A GPU replays the updates of every algorithm: plain updates there mean that capturing failed. */
const mustReplay = ({ ok, detail }: CheckResult, note: string, device: string): CheckResult => ({
  ok: ok && (note === "replayed" || device === "cpu"),
  detail,
});

/** Whether a device still computes after an error: some leave a GPU in a state in which nothing works. */
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

/** What went wrong first: freeing things after it may have failed as well, and hides it. */
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
