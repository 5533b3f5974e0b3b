import { expect, test } from "vitest";
import { arrays, CLASSES, DOMAINS, tinyBackbone, tinyBatch, vectors } from "../../tests/support/tiny-data.js";
import { algorithms } from "../algorithms/index.js";
import { type Freeze, freezeBackbone } from "../backbones/depth.js";
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

/** Returns the weights after some updates. */
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
    "headLr 2: ADRMX has no classifier whose learning rate can be set",
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
  // The length of Adam's first step on the network is the learning rate, because there are no earlier moments.
  const [name, values] = [...later].find(([each]) => each.startsWith("backbone") && each.endsWith("weight"))!;
  const step = Math.max(...values.map((value, i) => Math.abs(value - start.get(name)![i])));
  expect(step).toBeCloseTo(1e-3, 5);
  expect(() => makeLearner("adrmx", { headSteps: 2 }, { mlpWidth: 8 })).toThrow(
    "headFirst 2: ADRMX has no classifier that can be trained separately",
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

/** Creates a learner on a network with a stem and three blocks, partly frozen. */
const partial = (id: string, freeze: Freeze | undefined, optimization: Optimization, hparams = {}): Learner =>
  new Learner({
    algorithm: algorithms[id],
    makeBackbone: () => {
      const backbone = tinyBackbone(arrays, 0, algorithms[id].backbone?.extraChannels);
      return freeze ? freezeBackbone(backbone, freeze) : backbone;
    },
    classes: CLASSES,
    domains: DOMAINS,
    hparams: { lr: 1e-3, ...hparams },
    optimization,
  });

const values = (learner: Learner): Map<string, number[]> =>
  new Map([...learner.stateDict()].map(([name, each]) => [name, each.detach().toNumbers()]));

test("frozen parts of the backbone keep their values in every algorithm, with any of its optimizers, and the others move", () => {
  const small: Record<string, object> = {
    adrmx: { mlpWidth: 8 },
    "sand-mask": { tau: 0.3 },
    arm: { contextWidth: 4 },
    "erm-plus-plus": { headSteps: 0 },
  };
  const before = liveTensors();
  for (const id of Object.keys(algorithms)) {
    for (const freeze of ["all-but-1", "all"] as const)
      scope(() => {
        let learner: Learner;
        try {
          learner = partial(id, freeze, { ...(id === "erm" && plainSgd) }, small[id]);
        } catch (error) {
          expect(freeze, id).toBe("all");
          expect(`${error}`, id).toContain("has nothing left to train, because the whole backbone is frozen");
          return;
        }
        using made = learner;
        const start = values(made);
        for (let step = 0; step < 3; step++) made.update(tinyBatch(arrays, step), step);
        const end = values(made);
        const moved = [...end.keys()].filter((name) => `${end.get(name)}` !== `${start.get(name)}`);
        const frozen = freeze === "all" ? /^backbone\./ : /^backbone\.(stem|stage1|stage2)\./;
        expect(
          moved.filter((name) => frozen.test(name)),
          id,
        ).toEqual([]);
        if (freeze === "all-but-1") expect(moved, id).toContain("backbone.stage3.weight");
        expect(moved.length, id).toBeGreaterThan(0);
      });
  }
  expect(liveTensors()).toBe(before);
});

test("rates go by depth in every optimizer that has the backbone, beside the classifier's own", () => {
  using learner = partial("vrex", "stem", { layerDecay: 0.5, headLr: 10 }, { annealSteps: 2 });
  const rates = () => learner.optimizers.main.groups.map(({ lr, entries }) => [lr, entries.length]);
  const expected = [
    [1e-3 * 0.125, 2], // the first of three blocks: weight and bias
    [1e-3 * 0.25, 2],
    [1e-3 * 0.5, 2],
    [1e-3 * 10, 2],
  ];
  expect(rates()).toEqual(expected);
  scope(() => {
    for (let step = 0; step < 3; step++) learner.update(tinyBatch(arrays, step), step);
  });
  expect(rates()).toEqual(expected); // also after the optimizer was replaced
  const { trained, all, bytes } = learner.size();
  const stem = learner.backbone.stateDict();
  expect(all - trained).toBe(stem.get("stem.weight")!.numel + stem.get("stem.bias")!.numel);
  expect(bytes).toBe(4 * (all + 3 * trained)); // gradients and two moments
  expect(() => partial("erm-plus-plus", undefined, { layerDecay: 0.5 }, { lars: true })).toThrow(
    "layerDecay 0.5: ERM++ makes the optimizer of its backbone itself; leave layerDecay out",
  );
});

test("a step with rates by depth is the same as one of plain gradient descent by hand", () => {
  scope(() => {
    using learner = partial("erm", undefined, { layerDecay: 0.5, ...plainSgd });
    using plain = partial("erm", undefined, plainSgd);
    const start = values(plain);
    for (const each of [learner, plain]) each.update(tinyBatch(arrays, 0), 0);
    const rates: [string, number][] = [
      ["stem", 0.0625],
      ["stage1", 0.125],
      ["stage2", 0.25],
      ["stage3", 0.5],
    ];
    for (const [part, rate] of [
      ...rates.map(([name, each]) => [`backbone.${name}`, each] as const),
      ["classifier", 1] as const,
    ]) {
      const name = `${part}.weight`;
      const [from, slow, fast] = [start, values(learner), values(plain)].map((each) => each.get(name)!);
      const largest = Math.max(...fast.map((value, i) => Math.abs(value - from[i])));
      expect(largest).toBeGreaterThan(0);
      for (const [i, value] of slow.entries())
        expect(Math.abs(value - from[i] - rate * (fast[i] - from[i]))).toBeLessThan(2e-7 + 1e-3 * largest);
    }
  });
});
