import { expect, test } from "vitest";
import { CLASSES, DOMAINS, tinyBackbone, tinyBatch, vectors } from "../../tests/support/tiny-data.js";
import { algorithms } from "../algorithms/index.js";
import { liveTensors } from "../engine/device.js";
import { scope } from "../engine/scope.js";
import { optimizerNamed } from "../optim/index.js";
import { defaultsOf } from "../options.js";
import { Learner } from "./learner.js";
import type { Optimization } from "./optimization.js";

const makeLearner = (id: string, optimization: Optimization, hparams: Record<string, number> = {}): Learner =>
  new Learner({
    algorithm: algorithms[id],
    makeBackbone: () => tinyBackbone(vectors, 0),
    classes: CLASSES,
    domains: DOMAINS,
    hparams: { lr: 1e-3, ...hparams },
    optimization,
  });

/** The weights after some updates. */
const trained = (id: string, optimization: Optimization, hparams: Record<string, number> = {}, updates = 4): number[] =>
  scope(() => {
    using learner = makeLearner(id, optimization, hparams);
    for (let step = 0; step < updates; step++) learner.update(tinyBatch(vectors, step), step);
    return [...learner.parameters().values()].flatMap((each) => each.detach().toNumbers());
  });

const sgd = optimizerNamed("sgd");
const plainSgd = { optimizer: sgd, options: { ...defaultsOf(sgd.options), momentum: 0 } };

test("a schedule changes nothing while its factor is 1, and a factor of 0 stands still", () => {
  expect(trained("erm", { rate: () => 1 })).toEqual(trained("erm", {}));
  const start = trained("erm", {}, {}, 0);
  expect(trained("erm", { rate: () => 0 })).toEqual(start);
  expect(trained("mldg", { rate: () => 0, ...plainSgd })).toEqual(start);
});

test("a constant factor is as good as that learning rate, in every optimizer of an algorithm", () => {
  const ids = ["erm", "vrex", "sag-net", "fish", "mldg"];
  for (const id of ids) expect(trained(id, { rate: () => 0.5 }), id).toEqual(trained(id, {}, { lr: 5e-4 }));
});

test("the classifier has a rate of its own, after an optimizer was replaced too", () => {
  using learner = makeLearner("vrex", { headLr: 10, clipNorm: 1 }, { annealSteps: 2 });
  const rates = () => learner.optimizers.main.groups.map(({ lr, entries }) => [lr, entries.length]);
  const before = rates();
  expect(before.map(([lr]) => lr)).toEqual([1e-3, 1e-2]);
  expect(before[1][1]).toBe(2); // weight and bias
  const first = learner.optimizers.main;
  scope(() => {
    for (let step = 0; step < 3; step++) learner.update(tinyBatch(vectors, step), step);
  });
  expect(learner.optimizers.main).not.toBe(first);
  expect(rates()).toEqual(before);
  expect(learner.optimizers.main.clipNorm).toBe(1);
});

test("an algorithm that makes its heads itself refuses a rate for them", () => {
  expect(() => makeLearner("adrmx", { headLr: 2 }, { mlpWidth: 8 })).toThrow(
    "headLr 2: ADRMX has no classifier whose learning rate could be set",
  );
});

test("the classifier is trained first, alone, and remembers nothing of the network's gradients", () => {
  const weights = (updates: number, headSteps: number): Map<string, number[]> =>
    scope(() => {
      using learner = makeLearner("erm", { headSteps, clipNorm: 1 });
      for (let step = 0; step < updates; step++) learner.update(tinyBatch(vectors, step), step);
      return new Map([...learner.parameters()].map(([name, each]) => [name, each.detach().toNumbers()]));
    });
  const [start, first, later] = [weights(0, 3), weights(3, 3), weights(4, 3)];
  for (const [name, values] of first)
    if (name.startsWith("classifier")) expect(values).not.toEqual(start.get(name));
    else expect(values, name).toEqual(start.get(name));
  const moved = [...later].filter(([name, values]) => `${values}` !== `${start.get(name)}`);
  expect(moved).toHaveLength(later.size);
  // The network's first step of Adam is as long as the learning rate: no moments from before.
  const [name, values] = [...later].find(([each]) => each.startsWith("backbone") && each.endsWith("weight"))!;
  const step = Math.max(...values.map((value, i) => Math.abs(value - start.get(name)![i])));
  expect(step).toBeCloseTo(1e-3, 5);
  expect(() => makeLearner("adrmx", { headSteps: 2 }, { mlpWidth: 8 })).toThrow(
    "headFirst 2: ADRMX has no classifier that could be trained by itself",
  );
});

test("every algorithm runs with SGD, a schedule and clipping, and leaves nothing behind", () => {
  const before = liveTensors();
  for (const [id, { backbone }] of Object.entries(algorithms)) {
    if (backbone) continue;
    const values = trained(id, { ...plainSgd, rate: (step) => 1 / (step + 1), clipNorm: 1 });
    expect(values.every(Number.isFinite), id).toBe(true);
  }
  expect(liveTensors()).toBe(before);
});
