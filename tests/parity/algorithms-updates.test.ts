/**
 * The algorithms that own their updates, or need more than a backbone and a head, against an independent computation in
 * PyTorch (tests/vectors/algorithms_updates.py): five updates with the same states, minibatches and random draws.
 */

import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import type { Minibatch } from "../../src/algorithms/algorithm.js";
import { algorithmNamed } from "../../src/algorithms/index.js";
import { backboneNamed } from "../../src/backbones/index.js";
import type { Nested } from "../../src/engine/arrays.js";
import { devices, liveTensors } from "../../src/engine/device.js";
import type { DType } from "../../src/engine/dtype.js";
import { openWeights } from "../../src/engine/open-weights.js";
import { scope } from "../../src/engine/scope.js";
import { type Tensor, tensor } from "../../src/engine/tensor.js";
import { readWeights } from "../../src/engine/weights.js";
import type { HparamValue } from "../../src/hparams.js";
import type { Precision } from "../../src/nn/index.js";
import { type StoredDraws, storedDraws } from "../../src/porting/stored-draws.js";
import { nuclearNorm } from "../../src/regularizers/index.js";
import { Learner } from "../../src/training/learner.js";
import { expectClose } from "../support/close.js";
import { formulaState, formulaTensor } from "../support/formula-weights.js";

const VECTORS = fileURLToPath(new URL("../vectors/algorithms_updates.safetensors", import.meta.url));
const UPDATES = 5;
const DOMAINS = 3;
const BATCH = 4;
const SHARED = { lr: 0.01, weightDecay: 0.001, batchSize: BATCH };
const SHAPES = { mlp: [5], "toy-cnn": [3, 8, 8] };

interface Case {
  algorithm: string;
  backbone: keyof typeof SHAPES;
  hparams: Record<string, HparamValue>;
  /** Weight and scaling of the nuclear norm. */
  penalty?: [number, "sum" | "per-sample"];
  /** Samples of each domain. */
  sizes?: number[];
}

function metadata<T>(key: string): T {
  using file = openWeights(VECTORS);
  return JSON.parse(file.metadata[key]) as T;
}
const cases = metadata<Record<string, Case>>("cases");
const recorded = metadata<Record<string, Record<string, Nested[]>[]>>("draws");
const logs = metadata<Record<string, Record<string, number>[]>>("logs");
const labels = metadata<number[][][]>("labels");

/** What was drawn at a step of a case, in the place of random draws. */
function recordedDraws(name: string, step: number): StoredDraws {
  const entries = Object.entries(recorded[name][step]).flatMap(([draw, values]) =>
    values.map((value, use): [string, Tensor] => [`${draw}/${use}`, tensor(value, { dtype: "float64" })]),
  );
  return storedDraws(new Map(entries), "");
}

const inputsOf = ({ backbone, sizes }: Case, step: number, dtype: DType, device: string): Minibatch[] =>
  (sizes ?? new Array<number>(DOMAINS).fill(BATCH)).map((rows, e) => ({
    x: formulaTensor(`x ${step} ${e}`, [rows, ...SHAPES[backbone]], { scale: 2, around: 0.5 * e - 0.5, dtype }).to({
      device,
    }),
    y: tensor(labels[step][e].slice(0, rows), { dtype: "int64", device }),
  }));

/** Where a parameter or buffer starts: as stored, or vectors and numbers by formula. */
const startOf = (name: string, shape: readonly number[], vectors: ReadonlyMap<string, Tensor>): Tensor =>
  vectors.get(`start/${name}/${shape.join("x")}`) ?? formulaState(name, shape);

/** A learner of a case at its start, and a check that every recorded draw was used. */
function learnerOf(
  name: string,
  { dtype = "float32" as DType, device = "cpu", precision = "float32" as Precision } = {},
): { learner: Learner; update: (step: number) => Record<string, number> } {
  const { algorithm: id, backbone, hparams, penalty } = cases[name];
  const algorithm = algorithmNamed(id);
  const [channels, ...sizes] = SHAPES[backbone];
  const inputShape = [channels + (algorithm.backbone?.extraChannels ?? 0), ...sizes];
  let draws: StoredDraws | undefined;
  const learner = new Learner({
    algorithm,
    makeBackbone: () => backboneNamed(backbone).build({ inputShape, width: 6 }),
    classes: 3,
    domains: DOMAINS,
    hparams: { ...SHARED, ...hparams },
    regularizers: penalty ? [nuclearNorm({ weight: penalty[0], scaling: penalty[1], warmup: 0, route: "svd" })] : [],
    device,
    precision,
    drawsAt(step) {
      draws = recordedDraws(name, step);
      return draws;
    },
  });
  learner.root.to({ dtype });
  scope(() => {
    const vectors = readWeights(VECTORS);
    const start = [...learner.stateDict()].map(([key, { shape }]) => [key, startOf(key, shape, vectors)] as const);
    learner.loadStateDict(new Map(start));
  });
  const update = (step: number): Record<string, number> =>
    scope(() => {
      const numbers = learner.update(inputsOf(cases[name], step, dtype, device), step);
      expect(draws!.unused()).toEqual([]);
      return numbers;
    });
  return { learner, update };
}

/** The state after so many updates: what was stored, and the rest as at the start. */
function expectedState(name: string, updates: number, learner: Learner, vectors: ReadonlyMap<string, Tensor>) {
  const entries = [...learner.stateDict()].map(([key, { shape }]): [string, { start: Tensor; end: Tensor }] => {
    const start = startOf(key, shape, vectors);
    return [key, { start, end: vectors.get(`${name}/${updates}/${key}`) ?? start }];
  });
  const known = new Set(entries.map(([key]) => `${name}/${updates}/${key}`));
  const stored = [...vectors.keys()].filter((key) => key.startsWith(`${name}/${updates}/`));
  expect(stored.filter((key) => !known.has(key))).toEqual([]);
  expect(stored.length).toBeGreaterThan(0);
  return new Map(entries);
}

test.for(Object.keys(cases))("%s: five updates equal PyTorch's to 1e-9 in float64", (name) => {
  scope(() => {
    const vectors = readWeights(VECTORS);
    const { learner, update } = learnerOf(name, { dtype: "float64" });
    for (let step = 0; step < UPDATES; step++) {
      const numbers = update(step);
      expect(Object.keys(numbers).sort()).toEqual(Object.keys(logs[name][step]).sort());
      for (const [key, value] of Object.entries(logs[name][step])) {
        expectClose([numbers[key]], [value], { rtol: 1e-9, what: `${key} of update ${step}` });
      }
      if (step > 0 && step < UPDATES - 1) continue;
      const state = learner.stateDict();
      for (const [key, { end }] of expectedState(name, step + 1, learner, vectors)) {
        // The absolute part is for elements near zero: a weight's usual size is 0.3, and an update moves it by 0.01.
        expectClose(state.get(key)!, end, { rtol: 1e-9, atol: 1e-11, what: `${key} after ${step + 1} updates` });
      }
    }
    const probe = formulaTensor("probe", [2 * BATCH, ...SHAPES[cases[name].backbone]], { dtype: "float64" });
    for (const rows of [2 * BATCH, 2 * BATCH - 2]) {
      const logits = learner.predict(probe.narrow(0, 0, rows));
      expectClose(logits, vectors.get(`${name}/predictions of ${rows}`)!, { rtol: 1e-9, atol: 1e-11 });
    }
    learner.dispose();
  });
});

/** How far the state is from PyTorch's after so many updates, relative to how far those went. */
function relativeError(name: string, updates: number, learner: Learner, vectors: ReadonlyMap<string, Tensor>): number {
  const state = learner.stateDict();
  let [off, moved] = [0, 0];
  for (const [key, { start, end }] of expectedState(name, updates, learner, vectors)) {
    const value = state.get(key)!.detach().to({ dtype: "float64", device: "cpu" });
    off += value.sub(end).square().sum().item();
    moved += end.sub(start).square().sum().item();
  }
  return Math.sqrt(off / moved);
}

for (const device of devices()) {
  test.for(Object.keys(cases))(`%s: in float32 on ${device}, the updates are within 1e-3 of their norm`, (name) => {
    scope(() => {
      const vectors = readWeights(VECTORS);
      const { learner, update } = learnerOf(name, { device });
      update(0);
      expect(relativeError(name, 1, learner, vectors)).toBeLessThan(1e-3);
      for (let step = 1; step < UPDATES; step++) update(step);
      expect(relativeError(name, UPDATES, learner, vectors)).toBeLessThan(1e-3);
      learner.dispose();
    });
  });

  // Losses, as Adam's first steps have the size of the rate whatever the gradient's is: a small one rounded to the other side
  // of zero moves a weight the other way. The absolute part is for those that are differences: DANN's, MIRO's.
  test.for(Object.keys(cases))(`%s: in bf16 on ${device}, the losses are within 5 % or 0.02`, (name) => {
    scope(() => {
      const { learner, update } = learnerOf(name, { device, precision: "bf16" });
      for (let step = 0; step < UPDATES; step++) {
        for (const [key, value] of Object.entries(update(step))) {
          expectClose([value], [logs[name][step][key]], { rtol: 0.05, atol: 0.02, what: `${key} of update ${step}` });
        }
      }
      expect([...learner.stateDict().values()].some(({ dtype }) => dtype === "bfloat16")).toBe(false);
      learner.dispose();
    });
  });
}

test.for(Object.keys(cases))("%s: stopped, saved and restored, it continues bit for bit and leaks nothing", (name) => {
  const before = liveTensors();
  scope(() => {
    const through = learnerOf(name);
    const stopped = learnerOf(name);
    for (let step = 0; step < 3; step++) {
      through.update(step);
      stopped.update(step);
    }
    const held = liveTensors();
    through.update(3); // by now every optimizer has its moments
    expect(liveTensors()).toBe(held);
    through.update(4);

    const resumed = learnerOf(name);
    resumed.learner.loadStateDict(stopped.learner.stateDict());
    for (const [key, optimizer] of Object.entries(stopped.learner.optimizers)) {
      resumed.learner.optimizers[key].loadState(optimizer.state());
    }
    stopped.learner.dispose();
    resumed.update(3);
    resumed.update(4);
    const state = resumed.learner.stateDict();
    for (const [key, value] of through.learner.stateDict()) expect(value.equal(state.get(key)!), key).toBe(true);
    through.learner.dispose();
    resumed.learner.dispose();
  });
  expect(liveTensors()).toBe(before);
});
