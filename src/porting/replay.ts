/**
 * Repeats the updates of a case of a parity file with an algorithm of this project, and measures the difference to the
 * reference.
 */

import type { AlgorithmDefinition, Minibatch } from "../algorithms/algorithm.js";
import { algorithmNamed } from "../algorithms/index.js";
import { sharedHparams } from "../algorithms/shared-hparams.js";
import { backboneNamed } from "../backbones/index.js";
import type { DType } from "../engine/dtype.js";
import { Random } from "../engine/random.js";
import { scope } from "../engine/scope.js";
import { noGrad, type Tensor } from "../engine/tensor.js";
import { DataError } from "../errors.js";
import type { HparamValue } from "../hparams.js";
import type { Precision } from "../nn/index.js";
import { regularizerNamed } from "../regularizers/index.js";
import { Learner, under } from "../training/learner.js";
import { caseTensors, type ParityCase, type ParityFile } from "./parity-file.js";
import { type StoredDraws, storedDraws } from "./stored-draws.js";

export interface ReplayOptions {
  readonly dtype?: DType;
  readonly device?: string;
  readonly precision?: Precision;
}

/** The difference between a state and that of the reference. */
export interface StateDifference {
  /** The number of updates. */
  readonly updates: number;
  /** The largest difference of an element. */
  readonly largest: number;
  /** The norm of the difference, relative to the norm of the reference's change since the start. */
  readonly relative: number;
  /** The tensor with the largest difference. */
  readonly worst: string;
}

export interface CaseDifferences {
  readonly name: string;
  readonly algorithm: string;
  readonly states: readonly StateDifference[];
  /** The largest difference of a logged number, relative to its size if that is above 1; null if the file has none. */
  readonly logs: { readonly largest: number; readonly worst: string } | null;
  /** The largest difference of a logit; null if the file has none. */
  readonly predictions: number | null;
}

/** Makes the updates of a case and compares. `onUpdate` receives the learner after each. */
export function replayCase(
  file: ParityFile,
  name: string,
  { dtype = "float64", device = "cpu", precision = "float32" }: ReplayOptions = {},
  onUpdate?: (learner: Learner, updates: number) => void,
): CaseDifferences {
  return scope(() => {
    const about = file.cases[name];
    const tensors = caseTensors(file, name);
    let draws: StoredDraws | undefined;
    using learner = learnerOf(about, { device, precision }, (step) => {
      draws = storedDraws(tensors, `draw/${step}/`);
      return draws;
    });
    learner.root.to({ dtype });
    const start = under("start/", tensors);
    learner.loadStateDict(start);
    const states: StateDifference[] = [];
    let logs: CaseDifferences["logs"] = null;
    for (let step = 0; step < about.updates; step++) {
      const numbers = scope(() =>
        learner.update(minibatches(file.path, about, tensors, step, { dtype, device }), step),
      );
      const unused = draws?.unused() ?? [];
      if (unused.length > 0)
        throw new DataError(`${file.path}: ${name}: update ${step} did not ask for ${unused.join(", ")}`);
      logs = worseLog(logs, numbers, about.logs?.[step] ?? {}, step);
      const end = under(`after/${step + 1}/`, tensors);
      if (end.size > 0) states.push(stateDifference(step + 1, learner.stateDict(), start, end));
      onUpdate?.(learner, step + 1);
    }
    return {
      name,
      algorithm: about.algorithm,
      states,
      logs,
      predictions: predicted(learner, tensors, { dtype, device }),
    };
  });
}

function learnerOf(
  { algorithm: called, backbone, classes, domains, hparams, regularizers = [] }: ParityCase,
  place: { device: string; precision: Precision },
  drawsAt: (step: number) => StoredDraws,
): Learner {
  const algorithm = algorithmNamed(called);
  const { id, inputShape, ...options } = backbone;
  const [channels, ...sizes] = inputShape;
  const shape = [channels + (algorithm.backbone?.extraChannels ?? 0), ...sizes];
  return new Learner({
    algorithm,
    makeBackbone: () =>
      backboneNamed(id)
        .build({ inputShape: shape, ...options })
        .initialize(new Random(0)),
    classes,
    domains,
    hparams: byOwnNames(algorithm, hparams),
    regularizers: regularizers.map(({ id: named, ...settings }) => regularizerNamed(named)(settings)),
    ...place,
    drawsAt,
  });
}

/** Hyperparameters by the names of this project, translated from those of the reference. */
export function byOwnNames(
  algorithm: AlgorithmDefinition,
  given: Readonly<Record<string, HparamValue>>,
): Record<string, HparamValue> {
  const declared = { ...sharedHparams({ dataset: "", size: "large" }), ...algorithm.hparams };
  const names = new Map(
    Object.entries(declared).flatMap(([own, { reference }]) => (reference ? [[reference, own]] : [])),
  );
  return Object.fromEntries(
    Object.entries(given).map(([name, value]) => [
      Object.hasOwn(declared, name) ? name : (names.get(name) ?? name),
      value,
    ]),
  );
}

function minibatches(
  path: string,
  { domains }: ParityCase,
  tensors: ReadonlyMap<string, Tensor>,
  step: number,
  { dtype, device }: { dtype: DType; device: string },
): Minibatch[] {
  const part = (name: string): Tensor => {
    const value = tensors.get(name);
    if (!value) throw new DataError(`${path}: expected the tensor ${name}, which is missing`);
    return value;
  };
  return Array.from({ length: domains }, (_, e) => ({
    x: part(`batch/${step}/${e}/x`).to({ dtype, device }),
    y: part(`batch/${step}/${e}/y`).to({ device }),
  }));
}

/** Compares every float of a state with the expected value. Integers must be equal. */
function stateDifference(
  updates: number,
  state: ReadonlyMap<string, Tensor>,
  start: ReadonlyMap<string, Tensor>,
  end: ReadonlyMap<string, Tensor>,
): StateDifference {
  const unknown = [...end.keys()].find((key) => !state.has(key));
  if (unknown !== undefined)
    throw new DataError(`the state after ${updates} updates has ${unknown}; known are ${[...state.keys()].join(", ")}`);
  let [off, way, largest, worst] = [0, 0, 0, ""];
  noGrad(() => {
    for (const [key, value] of state) {
      const from = start.get(key)!.toDType("float64");
      const expected = end.get(key)?.toDType("float64") ?? from;
      const difference = value.detach().to({ device: "cpu", dtype: "float64" }).sub(expected);
      off += difference.square().sum().item();
      way += expected.sub(from).square().sum().item();
      const most = difference.numel === 0 ? 0 : difference.abs().max().item();
      if (!(most <= largest) || worst === "") [largest, worst] = [most, key];
    }
  });
  return { updates, largest, relative: off === 0 ? 0 : Math.sqrt(off / way), worst };
}

function worseLog(
  before: CaseDifferences["logs"],
  numbers: Readonly<Record<string, number>>,
  expected: Readonly<Record<string, number>>,
  step: number,
): CaseDifferences["logs"] {
  let worse = before;
  for (const [name, value] of Object.entries(expected)) {
    if (!Object.hasOwn(numbers, name)) continue; // logs may have other names
    const difference = Math.abs(numbers[name] - value) / Math.max(1, Math.abs(value));
    if (worse === null || !(difference <= worse.largest))
      worse = { largest: difference, worst: `${name} of update ${step}` };
  }
  return worse;
}

function predicted(
  learner: Learner,
  tensors: ReadonlyMap<string, Tensor>,
  place: { dtype: DType; device: string },
): number | null {
  const [x, logits] = [tensors.get("predict/x"), tensors.get("predict/logits")];
  if (!x || !logits) return null;
  const made = learner.predict(x.to(place)).to({ device: "cpu", dtype: "float64" });
  return made.sub(logits.toDType("float64")).abs().max().item();
}
