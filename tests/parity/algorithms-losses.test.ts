/**
 * One update and five of the algorithms that are mostly a loss, against PyTorch (tests/vectors/algorithms_losses.py): start,
 * minibatches and draws stored; plain, with the penalty, and in every variant.
 */

import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { algorithms } from "../../src/algorithms/index.js";
import { Mlp } from "../../src/backbones/mlp.js";
import { devices, liveTensors } from "../../src/engine/device.js";
import { openWeights } from "../../src/engine/open-weights.js";
import { Random } from "../../src/engine/random.js";
import { scope } from "../../src/engine/scope.js";
import { noGrad, type Tensor } from "../../src/engine/tensor.js";
import { readWeights } from "../../src/engine/weights.js";
import type { Precision } from "../../src/nn/index.js";
import { type StoredDraws, storedDraws } from "../../src/porting/stored-draws.js";
import { nuclearNorm } from "../../src/regularizers/index.js";
import { Learner } from "../../src/training/learner.js";
import { expectClose } from "../support/close.js";

const VECTORS = fileURLToPath(new URL("../vectors/algorithms_losses.safetensors", import.meta.url));

interface Case {
  algorithm: string;
  hparams: Record<string, number | boolean>;
  /** Samples of each domain. */
  sizes: number[];
  regularizer: { weight: number; scaling: "per-sample" | "sum" } | null;
}

function metadata<T>(key: string): T {
  using file = openWeights(VECTORS);
  return JSON.parse(file.metadata[key]) as T;
}
const cases = metadata<Record<string, Case>>("cases");
const run = metadata<Record<"lr" | "weightDecay" | "steps" | "inputs" | "width" | "classes", number>>("run");

type Stored = ReadonlyMap<string, Tensor>;

/** The tensors under a prefix, by what follows it. */
const under = (stored: Stored, prefix: string): Map<string, Tensor> =>
  new Map([...stored].flatMap(([key, value]) => (key.startsWith(prefix) ? [[key.slice(prefix.length), value]] : [])));

/** Runs the updates of a case; `after` sees the state after each. */
function train(
  name: string,
  { dtype, device, precision }: { dtype: "float32" | "float64"; device: string; precision?: Precision },
  after: (state: Map<string, Tensor>, updates: number, stored: Stored) => void,
): void {
  const { algorithm, hparams, sizes, regularizer } = cases[name];
  scope(() => {
    const stored = readWeights(VECTORS);
    const draws: StoredDraws[] = [];
    using learner = new Learner({
      algorithm: algorithms[algorithm],
      makeBackbone: () => new Mlp({ inputShape: [run.inputs], width: run.width }).initialize(new Random(0)),
      classes: run.classes,
      domains: sizes.length,
      hparams: { ...hparams, lr: run.lr, weightDecay: run.weightDecay },
      regularizers: regularizer ? [nuclearNorm({ ...regularizer, warmup: 0, route: "svd" })] : [],
      device,
      precision,
      drawsAt: (step) => {
        draws.push(storedDraws(stored, `${name}/draw ${step}/`));
        return draws[step];
      },
    });
    learner.root.to({ dtype });
    learner.loadStateDict(under(stored, `${algorithm}/start/`));
    for (let step = 0; step < run.steps; step++) {
      const minibatches = sizes.map((n, e) => ({
        x: stored.get(`batch ${step}/${e}/x`)!.narrow(0, 0, n).to({ dtype, device }),
        y: stored.get(`batch ${step}/${e}/y`)!.narrow(0, 0, n).to({ device }),
      }));
      const before = liveTensors();
      learner.update(minibatches, step);
      // Adam's two moments of each parameter stay after the first update; nothing does after later ones.
      if (step > 0) expect(liveTensors(), `tensors after update ${step + 1}`).toBe(before);
      expect(draws[step].unused(), `draws of update ${step + 1} that were not asked for`).toEqual([]);
      after(learner.stateDict(), step + 1, stored);
    }
  });
}

/** What a case's state should be after some updates; what never changes is stored with the start only. */
const expectedState = (name: string, updates: number, stored: Stored): Map<string, Tensor> =>
  new Map([...under(stored, `${cases[name].algorithm}/start/`), ...under(stored, `${name}/after ${updates}/`)]);

const norm = (values: readonly Tensor[]): number => Math.hypot(...values.map((value) => value.norm().item()));

/** How far a state is from where it should be, as a share of the way there from the start. */
function shareOff(name: string, state: Map<string, Tensor>, updates: number, stored: Stored): number {
  return noGrad(() => {
    const expected = expectedState(name, updates, stored);
    const start = under(stored, `${cases[name].algorithm}/start/`);
    const from = (origin: Map<string, Tensor>) => (key: string) =>
      expected
        .get(key)!
        .toDType("float64")
        .sub(origin.get(key)!.to({ device: "cpu", dtype: "float64" }));
    return norm([...state.keys()].map(from(state))) / norm([...state.keys()].map(from(start)));
  });
}

const isCompared = (updates: number): boolean => updates === 1 || updates === run.steps;

for (const device of devices()) {
  test.for(Object.keys(cases))(`%s equals PyTorch in float64 on ${device}`, (name) => {
    train(name, { dtype: "float64", device }, (state, updates, stored) => {
      if (!isCompared(updates)) return;
      const expected = expectedState(name, updates, stored);
      expect([...state.keys()].sort()).toEqual([...expected.keys()].sort());
      for (const [key, value] of state) {
        expectClose(value, expected.get(key)!, { rtol: 1e-9, atol: 1e-12, what: `${key} after ${updates}` });
      }
    });
  });

  test.for(Object.keys(cases))(`%s has a relative error below 1e-3 in float32 on ${device}`, (name) => {
    train(name, { dtype: "float32", device }, (state, updates, stored) => {
      if (isCompared(updates)) expect(shareOff(name, state, updates, stored), `after ${updates}`).toBeLessThan(1e-3);
    });
  });

  // Adam's first step goes by the gradient's sign, so a weight whose gradient is all but 0 may go the other way.
  test.for(Object.keys(cases))(`%s is close in bf16 on ${device}, with its state in float32`, (name) => {
    train(name, { dtype: "float32", device, precision: "bf16" }, (state, updates, stored) => {
      for (const [key, value] of state) {
        expect(value.dtype, key).toBe(key.endsWith("num_batches_tracked") ? "int64" : "float32");
      }
      if (isCompared(updates)) expect(shareOff(name, state, updates, stored), `after ${updates}`).toBeLessThan(0.2);
    });
  });
}
