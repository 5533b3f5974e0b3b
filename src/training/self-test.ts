/**
 * Whether training on a device can be trusted, in a minute and without data: every algorithm against the CPU, replayed
 * updates against plain ones, and memory over two thousand updates. `nudge doctor --device cuda --full` runs it.
 */

import type { AlgorithmDefinition, Minibatch } from "../algorithms/algorithm.js";
import { type Draws, keyedDraws } from "../algorithms/draws.js";
import { algorithms } from "../algorithms/index.js";
import { backboneNamed } from "../backbones/index.js";
import { liveTensors, memory } from "../engine/device.js";
import { cat, empty } from "../engine/ops.generated.js";
import { Random } from "../engine/random.js";
import { scope } from "../engine/scope.js";
import { type Tensor, tensor } from "../engine/tensor.js";
import { nuclearNorm } from "../regularizers/index.js";
import { DeviceUpdates } from "./device-updates.js";
import { Learner } from "./learner.js";

/** One thing that was looked at. */
export interface Check {
  readonly name: string;
  readonly ok: boolean;
  /** What was measured, for people. */
  readonly detail: string;
}

const DOMAINS = 3;
const CLASSES = 4;
const ROWS = 8;
const SHAPE = [3, 8, 8] as const;

/** Updates that are compared: the regularizer sets in half-way, so that an update is captured twice. */
const UPDATES = 16;
const WARM_UP = 8;

/**
 * How far the weights may be apart, relative to how far they moved. Adam's first steps go by the gradients' signs, so where a
 * gradient is all rounding, another order of summing turns a step round.
 */
const TOLERANCE = 0.02;

/** Bytes by which the same tensors may differ: the host's allocator rounds their sizes. */
const ROUNDING = 1000;

/** The minibatches of a step: keyed numbers that have something to learn. */
function minibatches(step: number, device: string): Minibatch[] {
  const size = SHAPE.reduce((product, each) => product * each, 1);
  return Array.from({ length: DOMAINS }, (_, domain) => {
    const host = new Random(0, ["self-test", step, domain]).host();
    const labels = Array.from({ length: ROWS }, (_, i) => (i + step) % CLASSES);
    const x = labels.flatMap((label) =>
      Array.from({ length: size }, (_, k) => Math.sin(k * (label + 1)) + 0.3 * domain + 0.3 * (host.uniform() - 0.5)),
    );
    return {
      x: tensor(x, { shape: [ROWS, ...SHAPE], device }),
      y: tensor(labels, { dtype: "int64", device }),
    };
  });
}

/** Draws that do not depend on the device: whole tensors too are drawn on the CPU. */
function drawsAnywhere(step: number): Draws {
  const random = new Random(0, ["self-test", "draws", step]);
  const moved = (made: Tensor, { dtype, device }: Tensor): Tensor => made.to({ dtype, device });
  return {
    ...keyedDraws(random),
    normalLike: (name, like) => moved(random.next(name).normal_(empty(like.shape)), like),
    uniformLike: (name, shape, like) => moved(random.next(name).uniform_(empty(shape)), like),
  };
}

function makeLearner(algorithm: AlgorithmDefinition, device: string, drawsAt?: (step: number) => Draws): Learner {
  const extra = algorithm.backbone?.extraChannels ?? 0;
  return new Learner({
    algorithm,
    makeBackbone: () =>
      backboneNamed("toy-cnn")
        .build({ inputShape: [SHAPE[0] + extra, ...SHAPE.slice(1)] })
        .initialize(new Random(0, ["self-test", "backbone"])),
    classes: CLASSES,
    domains: DOMAINS,
    hparams: { lr: 1e-3, batchSize: ROWS },
    regularizers: [nuclearNorm({ weight: 0.01, warmup: WARM_UP })],
    device,
    drawsAt,
  });
}

/** The parameters of a learner, one after the other. */
const weightsOf = (learner: Learner): Float64Array =>
  Float64Array.from([...learner.parameters().values()].flatMap((each) => each.detach().toNumbers()));

const distance = (a: Float64Array, b: Float64Array): number =>
  Math.sqrt(a.reduce((sum, value, i) => sum + (value - b[i]) ** 2, 0));

interface Trained {
  readonly start: Float64Array;
  readonly end: Float64Array;
}

function plainly(algorithm: AlgorithmDefinition, device: string, drawsAt?: (step: number) => Draws): Trained {
  using learner = makeLearner(algorithm, device, drawsAt);
  const start = weightsOf(learner);
  for (let step = 0; step < UPDATES; step++) scope(() => learner.update(minibatches(step, device), step));
  return { start, end: weightsOf(learner) };
}

function replayed(algorithm: AlgorithmDefinition, device: string): Trained & { note: string } {
  const notes: string[] = [];
  using learner = makeLearner(algorithm, device);
  using updates = new DeviceUpdates(learner, { device, say: (text) => notes.push(text) });
  const start = weightsOf(learner);
  for (let step = 0; step < UPDATES; step++) launch(updates, step, device);
  updates.read();
  const note = updates.isReplaying ? "replayed" : (notes.at(-1)?.split(": ").slice(-1)[0] ?? "plain");
  return { start, end: weightsOf(learner), note };
}

function launch(updates: DeviceUpdates, step: number, device: string): void {
  scope(() => {
    const domains = minibatches(step, device);
    updates.update({ domains, x: cat(domains.map(({ x }) => x)), y: cat(domains.map(({ y }) => y)) }, step);
  });
}

function compared(got: Trained, expected: Trained, note = ""): Omit<Check, "name"> {
  const off = distance(got.end, expected.end);
  const apart = off === 0 ? 0 : off / distance(expected.end, expected.start);
  const detail = `weights ${apart.toExponential(1)} of the way apart after ${UPDATES} updates${note && ` (${note})`}`;
  return { ok: apart <= TOLERANCE, detail };
}

/** Makes every check in turn, up to one that fails with an error: after it a GPU may not compute any more. */
export function* selfTest(device: string, { updates = 2000 }: { updates?: number } = {}): Generator<Check> {
  for (const [name, check] of checksOf(device, updates)) {
    let made: Omit<Check, "name">;
    try {
      made = check();
    } catch (error) {
      yield { name, ok: false, detail: `${messageOf(error)}; nothing after it was looked at` };
      return;
    }
    yield { name, ...made };
  }
}

function* checksOf(device: string, updates: number): Generator<[name: string, check: () => Omit<Check, "name">]> {
  for (const algorithm of Object.values(algorithms)) {
    yield [
      `${algorithm.title}: as on the CPU`,
      () => compared(plainly(algorithm, device, drawsAnywhere), plainly(algorithm, "cpu", drawsAnywhere)),
    ];
    yield [
      `${algorithm.title}: replayed as run plainly`,
      () => {
        const { note, ...graph } = replayed(algorithm, device);
        return compared(graph, plainly(algorithm, device), note);
      },
    ];
  }
  yield ["memory over many updates", () => flatMemory(device, updates)];
}

/** What went wrong first: freeing things after it may have failed as well, and hides it. */
function messageOf(error: unknown): string {
  if (error instanceof Error && "suppressed" in error) return messageOf(error.suppressed);
  return (error instanceof Error ? error.message : String(error)).split("\n")[0];
}

function flatMemory(device: string, count: number): Omit<Check, "name"> {
  using learner = makeLearner(algorithms.erm, device);
  using updates = new DeviceUpdates(learner, { device });
  const settled = Math.min(100, Math.floor(count / 2));
  let before = { used: 0, tensors: 0 };
  for (let step = 0; step < count; step++) {
    launch(updates, step, device);
    if (step === settled) before = { used: memory(device).used, tensors: liveTensors() };
  }
  updates.read();
  const after = { used: memory(device).used, tensors: liveTensors() };
  const detail = `${after.used - before.used} bytes and ${after.tensors - before.tensors} tensors more after ${count} updates than after ${settled}`;
  const ok = after.used - before.used <= ROUNDING && after.tensors <= before.tensors;
  return { ok, detail };
}
