/**
 * Every algorithm on every kind of tiny data, plain, with the nuclear norm, under SWAD and with both: it builds, stays
 * finite, predicts, goes on from a saved state to the same bytes and leaves nothing behind. What cannot work says so.
 */

import { expect, test } from "vitest";
import type { AlgorithmDefinition } from "../../src/algorithms/algorithm.js";
import { checkDomains } from "../../src/algorithms/check-domains.js";
import { algorithms } from "../../src/algorithms/index.js";
import { type Follower, swad } from "../../src/averaging/index.js";
import { MobileNetV2 } from "../../src/backbones/index.js";
import { loadPlugins } from "../../src/cli/plugins.js";
import { liveTensors } from "../../src/engine/device.js";
import { Random } from "../../src/engine/random.js";
import { scope } from "../../src/engine/scope.js";
import { type Tensor, tensor } from "../../src/engine/tensor.js";
import { EngineError, UsageError } from "../../src/errors.js";
import type { HparamValue } from "../../src/hparams.js";
import { crossEntropy } from "../../src/nn/index.js";
import { nuclearNorm } from "../../src/regularizers/index.js";
import { Learner, type LearnerOptions } from "../../src/training/learner.js";
import { expectClose } from "../support/close.js";
import {
  arrays,
  CLASSES,
  DOMAINS,
  digits,
  type TinyData,
  tinyBackbone,
  tinyBatch,
  vectors,
} from "../support/tiny-data.js";

type Hparams = Readonly<Record<string, HparamValue>>;

/** What is off by default, or sets in later than ten updates, is on here. */
const BRANCHES: Readonly<Record<string, Hparams>> = {
  vrex: { annealSteps: 4 },
  irm: { annealSteps: 4 },
  fishr: { annealSteps: 4, penaltyWeight: 1 },
  dann: { gradPenalty: 0.1, mlpWidth: 8 },
  cdann: { gradPenalty: 0.1, mlpWidth: 8 },
  arm: { contextWidth: 4 },
  "erm-plus-plus": { headSteps: 2, averageFrom: 4 },
  "sand-mask": { tau: 0.3 },
  trm: { startSteps: 3 },
  "ib-erm": { bottleneckSteps: 4, bottleneckWeight: 1 },
  "ib-irm": { bottleneckSteps: 4, bottleneckWeight: 1, annealSteps: 3 },
  eqrm: { burnInSteps: 4 },
  rdm: { annealSteps: 4 },
  transfer: { adversarySteps: 2 },
  adrmx: { mlpWidth: 8 },
};

/** What has no effect by its default, or learns too slowly to be seen in 60 updates. */
const LEARNS: Readonly<Record<string, Hparams>> = { "sand-mask": { tau: 0.3 }, "erm-plus-plus": { headSteps: 5 } };

const WAYS = {
  plain: { nu: false, averaged: false },
  NU: { nu: true, averaged: false },
  SWAD: { nu: false, averaged: true },
  "NU+SWAD": { nu: true, averaged: true },
};

const library = Object.values(algorithms);
await loadPlugins([]); // those of $NUDGE_PLUGINS: a plug-in's author may put it through the same
const all = Object.values(algorithms);

/** Whether an algorithm can work on such data; that the others refuse is tested below. */
const works = ({ backbone }: AlgorithmDefinition, data: TinyData): boolean =>
  !(backbone?.stages && data !== arrays) && !(backbone?.extraChannels && data.inputShape.length === 1);

function makeLearner(
  algorithm: AlgorithmDefinition,
  data: TinyData,
  { nu = false, start = 0, ...options }: { nu?: boolean; start?: number } & Partial<LearnerOptions> = {},
): Learner {
  return new Learner({
    algorithm,
    makeBackbone: () => tinyBackbone(data, start, algorithm.backbone?.extraChannels),
    classes: CLASSES,
    domains: DOMAINS,
    regularizers: nu ? [nuclearNorm({ weight: 0.01, warmup: 0 })] : [],
    ...options,
    hparams: { lr: 1e-3, batchSize: data.samples, ...options.hparams },
  });
}

const expectFinite = (values: readonly number[]): void =>
  expect(values.filter((value) => !Number.isFinite(value))).toEqual([]);

/** The mean cross-entropy of the predictions for a batch. */
function errorOf(learner: Learner, data: TinyData, step: number): number {
  return scope(() => {
    const batches = tinyBatch(data, step);
    const errors = batches.map(({ x, y }) => crossEntropy(learner.predict(x), y).item());
    return errors.reduce((sum, each) => sum + each) / batches.length;
  });
}

test.each(library.flatMap((algorithm) => [[algorithm, "lr"] as const, [algorithm, "weightDecay"] as const]))(
  "$0.title uses $1, or declares that it does not",
  (algorithm, name) => {
    const data = works(algorithm, vectors) ? vectors : arrays;
    const weightsAfter = (value: number): string => {
      using learner = makeLearner(algorithm, data, { hparams: { ...BRANCHES[algorithm.id], [name]: value } });
      for (let step = 0; step < 6; step++) scope(() => learner.update(tinyBatch(data, step), step));
      return JSON.stringify([...learner.parameters()].map(([, each]) => scope(() => each.toNumbers())));
    };
    const isUsed = weightsAfter(1e-3) !== weightsAfter(1e-2);
    expect(isUsed).toBe(!Object.hasOwn(algorithm.unused ?? {}, name));
  },
);

/** A run of some updates; SWAD is told the error every second one. */
function advance(learner: Learner, follower: Follower | undefined, data: TinyData, from: number, to: number): void {
  for (let step = from; step < to; step++) {
    scope(() => expectFinite(Object.values(learner.update(tinyBatch(data, step), step))));
    follower?.afterUpdate(step, learner.parameters());
    if (step % 2 === 1) follower?.atEvaluation(step, errorOf(learner, data, 1000));
  }
}

interface Saved {
  readonly tensors: Map<string, Tensor>;
  readonly numbers: Record<string, unknown>;
}

/** Copies of everything a checkpoint holds. */
function save(learner: Learner, follower: Follower | undefined): { learner: Saved; follower?: Saved } {
  const copy = ({ tensors, numbers }: Saved): Saved => ({
    tensors: new Map([...tensors].map(([name, value]) => [name, scope(() => value.detach().clone())])),
    numbers: structuredClone(numbers),
  });
  return { learner: copy(learner.state()), ...(follower && { follower: copy(follower.state()) }) };
}

const bytesOf = ({ tensors, numbers }: Saved): unknown => ({
  numbers,
  tensors: [...tensors].map(([name, value]) => [
    name,
    value.dtype,
    value.shape,
    Buffer.from(value.bytes()).toString("hex"),
  ]),
});

function conform(
  algorithm: AlgorithmDefinition,
  data: TinyData,
  { nu, averaged }: (typeof WAYS)["plain"],
  steps: number,
): void {
  const before = liveTensors();
  const half = steps / 2;
  const hparams = BRANCHES[algorithm.id];
  scope(() => {
    using learner = makeLearner(algorithm, data, { nu, hparams });
    using follower = averaged ? swad({ converge: 1, patience: 3 }) : undefined;
    advance(learner, follower, data, 0, half);
    const saved = save(learner, follower);

    // Another start: whatever were not part of the state would differ.
    using resumed = makeLearner(algorithm, data, { nu, hparams, start: 1 });
    using resumedFollower = averaged ? swad({ converge: 1, patience: 3 }) : undefined;
    resumed.loadState(saved.learner as Parameters<Learner["loadState"]>[0]);
    if (saved.follower) resumedFollower?.loadState(saved.follower as Parameters<Follower["loadState"]>[0]);
    for (const { tensors } of Object.values(saved)) for (const value of tensors.values()) value.dispose();

    advance(learner, follower, data, half, steps);
    advance(resumed, resumedFollower, data, half, steps);
    for (const each of [learner, resumed]) each.checkPenalties();
    expect(bytesOf(resumed.state())).toEqual(bytesOf(learner.state()));
    if (follower) expect(bytesOf(resumedFollower!.state())).toEqual(bytesOf(follower.state()));

    if (follower) learner.loadStateDict(new Map([...learner.stateDict(), ...follower.weights()]));
    const [{ x }] = tinyBatch(data, 0);
    const logits = learner.predict(x);
    expect(logits.shape).toEqual([data.samples, CLASSES]);
    expectFinite(logits.toNumbers());
    expect([...resumed.predict(x).shape]).toEqual([data.samples, CLASSES]);
  });
  expect(liveTensors()).toBe(before);
}

const pairs = [vectors, arrays].flatMap((data) =>
  all
    .filter((algorithm) => works(algorithm, data))
    .map((algorithm) => ({ title: algorithm.title, on: data.name, algorithm, data })),
);

test.each(pairs)("$title on $on makes ten updates, with a save halfway, in all four modes", ({ algorithm, data }) => {
  for (const way of Object.values(WAYS)) conform(algorithm, data, way, 10);
});

test.each(
  all.filter((algorithm) => works(algorithm, digits)).map((algorithm) => [algorithm.title, algorithm] as const),
)("%s on 28×28 pictures: two updates, saved between them, with NU and SWAD", (_, algorithm) =>
  conform(algorithm, digits, WAYS["NU+SWAD"], 2),
);

/** The state after three updates in float64 with convolutions in a layout, and whether their weights and moments are in it. */
function laidOut(algorithm: AlgorithmDefinition, channelsLast: boolean) {
  using learner = makeLearner(algorithm, arrays, { nu: true, channelsLast, hparams: BRANCHES[algorithm.id] });
  learner.root.to({ dtype: "float64" });
  const place = { dtype: "float64", memoryFormat: channelsLast ? "channels_last" : undefined } as const;
  for (let step = 0; step < 3; step++) {
    const batch = tinyBatch(arrays, step).map(({ x, y }) => ({ x: x.to(place), y }));
    learner.update(batch, step);
  }
  const { tensors } = learner.state();
  const kernels = [...tensors].filter(
    ([name, { shape }]) => /stage\d\.weight|exp_avg/.test(name) && shape.length === 4,
  );
  const layouts = new Set(kernels.map(([, kernel]) => kernel.isChannelsLast));
  return { layouts, state: new Map([...tensors].map(([name, value]) => [name, value.detach().clone()])) };
}

test.each(
  all.filter((algorithm) => works(algorithm, arrays)).map((algorithm) => [algorithm.title, algorithm] as const),
)("%s makes the same updates with channels last", (_, algorithm) => {
  scope(() => {
    const [usual, last] = [laidOut(algorithm, false), laidOut(algorithm, true)];
    expect(usual.layouts).toContain(false);
    expect([...last.layouts]).toEqual([true]);
    for (const [name, value] of last.state)
      expectClose(value, usual.state.get(name)!, { rtol: 1e-8, atol: 1e-10, what: name });
  });
});

const variants = all.flatMap((algorithm) =>
  Object.entries(algorithm.hparams).flatMap(([name, each]) =>
    (each.variants ?? []).slice(1).map((value) => ({ title: algorithm.title, algorithm, name, value })),
  ),
);

test.each(variants)("$title with $name=$value also resumes from a saved state", ({ algorithm, name, value }) => {
  const hparams = { ...BRANCHES[algorithm.id], [name]: value };
  const data = works(algorithm, vectors) ? vectors : arrays;
  const after = (start: number, from?: Saved): Saved => {
    using learner = makeLearner(algorithm, data, { hparams, start });
    if (from) learner.loadState(from as Parameters<Learner["loadState"]>[0]);
    const step = from ? 2 : 0;
    advance(learner, undefined, data, step, step + 2);
    return save(learner, undefined).learner;
  };
  const before = liveTensors();
  const first = after(0);
  const [once, again] = [after(0, first), after(1, first)];
  expect(bytesOf(again)).toEqual(bytesOf(once));
  expect(bytesOf(once)).not.toEqual(bytesOf(first));
  for (const { tensors } of [first, once, again]) for (const each of tensors.values()) each.dispose();
  expect(liveTensors()).toBe(before);
});

test.each(all.map((algorithm) => [algorithm.title, algorithm] as const))(
  "%s learns: after 60 updates the training cross-entropy is below the start",
  (_, algorithm) => {
    const data = works(algorithm, vectors) ? vectors : arrays;
    using learner = makeLearner(algorithm, data, { hparams: { lr: 5e-3, ...LEARNS[algorithm.id] } });
    const error = (): number => [0, 1, 2].reduce((sum, step) => sum + errorOf(learner, data, step) / 3, 0);
    const start = error();
    advance(learner, undefined, data, 0, 60);
    expect(error()).toBeLessThan(start);
  },
);

test("algorithms that need maps or pictures refuse vectors and report what they need", () => {
  const refused = library.filter((algorithm) => !works(algorithm, vectors));
  expect(refused.map(({ id }) => id).sort()).toEqual(["arm", "miro", "mix-style"]);
  for (const algorithm of refused) {
    const build = () => scope(() => makeLearner(algorithm, vectors));
    expect(build).toThrow(UsageError);
    expect(build).toThrow(
      new RegExp(`^${algorithm.title} (needs a backbone with intermediate maps|works on pictures)`),
    );
  }
});

test("algorithms that need several training domains refuse one before anything is built", () => {
  const several = library.filter(({ minDomains = 1 }) => minDomains > 1);
  expect(several.map(({ id }) => id).sort()).toEqual([
    ...["adrmx", "cdann", "dann", "eqrm", "fish", "mdsdi", "mldg", "rdm", "transfer", "trm"],
  ]);
  for (const algorithm of several) {
    const makeBackbone = (): never => expect.unreachable("a backbone was built");
    expect(() => makeLearner(algorithm, vectors, { domains: 1, makeBackbone })).toThrow(
      `${algorithm.title} needs at least 2 training domains, got 1`,
    );
  }
});

test("algorithms that need domain labels refuse samples without them by name; the others accept them", () => {
  const dataset = { id: "image-folder", hasDomains: false };
  for (const algorithm of all) {
    const check = () => checkDomains(algorithm, { domains: 3, dataset });
    if (algorithm.needsDomains) expect(check).toThrow(`${algorithm.title} needs to know the domain of each sample`);
    else expect(check).not.toThrow();
    const { domainFree: hparams } = algorithm;
    if (hparams) expect(() => checkDomains(algorithm, { domains: 1, dataset, hparams })).not.toThrow();
    expect(() => checkDomains(algorithm, { domains: 3, dataset: { ...dataset, hasDomains: true } })).not.toThrow();
  }
});

test.each(all.map((algorithm) => [algorithm.title, algorithm] as const))(
  "%s names the step at which its loss is not a number, and leaves its weights alone",
  (_, algorithm) => {
    const data = works(algorithm, vectors) ? vectors : arrays;
    scope(() => {
      using learner = makeLearner(algorithm, data);
      const bad = tinyBatch(data, 7).map(({ x, y }) => ({ x: x.mul(Number.NaN), y }));
      const update = () => learner.update(bad, 7);
      const values = () => [...learner.parameters().values()].flatMap((each) => each.detach().toNumbers());
      const before = values();
      expect(update).toThrow(EngineError);
      expect(update).toThrow(/at step 7 is NaN\. Reduce the learning rate, or check the inputs/);
      expect(values()).toEqual(before);
    });
  },
);

test.each(["fish", "mldg", "and-mask", "sand-mask"])(
  "%s restores the weights if only the loss of the last domain is not finite",
  (id) => {
    scope(() => {
      using learner = makeLearner(algorithms[id], vectors);
      const batch = tinyBatch(vectors, 0).map(({ x, y }, i) => ({ x: i === DOMAINS - 1 ? x.mul(Number.NaN) : x, y }));
      const values = () => [...learner.parameters().values()].flatMap((each) => each.detach().toNumbers());
      const before = values();
      expect(() => learner.update(batch, 0)).toThrow(EngineError);
      expect(values()).toEqual(before);
    });
  },
);

test("MobileNetV2's stages end with the last block before each stride, and with the last block", () => {
  scope(() => {
    const backbone = new MobileNetV2({ inputShape: [3, 64, 64] }).initialize(new Random(0));
    const maps: (readonly number[])[] = [];
    backbone.eval().stages(tensor(new Float32Array(3 * 64 * 64), { shape: [1, 3, 64, 64] }), (map) => {
      maps.push(map.shape.slice(1));
      return map;
    });
    // Table 2 of its paper: the blocks' outputs of each resolution, at 64 pixels instead of 224.
    expect(maps).toEqual([
      [16, 32, 32],
      [24, 16, 16],
      [32, 8, 8],
      [96, 4, 4],
      [320, 2, 2],
    ]);
    expect(backbone.stageChannels).toEqual([16, 24, 32, 96, 320]);
    backbone.dispose();
  });
});
