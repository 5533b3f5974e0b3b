import { expect, test } from "vitest";
import { CLASSES, DOMAINS, tinyBackbone, tinyBatch, vectors } from "../../tests/support/tiny-data.js";
import { scope } from "../engine/scope.js";
import { noGrad } from "../engine/tensor.js";
import { UsageError } from "../errors.js";
import { crossEntropy } from "../nn/index.js";
import { nuclearNorm } from "../regularizers/index.js";
import { Learner } from "../training/learner.js";
import { type AlgorithmDefinition, type BuildContext, defineAlgorithm } from "./algorithm.js";

/** Builds a learner from arbitrary return values, as a plug-in in JavaScript might have them. */
function learnerOf(parts: (context: BuildContext) => unknown): Learner {
  const build = ((context: BuildContext) => {
    const { backbone, classifier } = context;
    const predict = (x: Parameters<typeof backbone.forward>[0]) => classifier.forward(backbone.forward(x));
    const given = parts(context);
    return typeof given === "object" ? { modules: { backbone, classifier }, predict, ...given } : given;
  }) as AlgorithmDefinition["build"];
  return new Learner({
    algorithm: defineAlgorithm({ id: "mine", title: "Mine", paper: "", needsDomains: false, hparams: {}, build }),
    makeBackbone: () => tinyBackbone(vectors, 0),
    classes: CLASSES,
    domains: DOMAINS,
    regularizers: [nuclearNorm({ weight: 0.01, warmup: 0 })],
  });
}

type StepOf = (context: BuildContext, batch: { x: never; y: never }) => unknown;

/** Builds an algorithm with this step and makes one update. */
const updateWith = (step: StepOf): void =>
  scope(() => {
    using learner = learnerOf((context) => ({ step: (batch: { x: never; y: never }) => step(context, batch) }));
    learner.update(tinyBatch(vectors, 0), 0);
  });

test.each<[which: string, parts: (context: BuildContext) => unknown, words: RegExp]>([
  ["nothing", () => undefined, /^algorithm Mine: "build" returned nothing, expected \{ modules, step, predict \}/],
  ["no modules", () => ({ modules: undefined, step: () => 0 }), /"build" returned no "modules"/],
  ["a module that is none", () => ({ modules: { x: 3 }, step: () => 0 }), /"build" returned no "modules"/],
  ["neither step nor update", () => ({}), /one of the functions "step" and "update", and returned neither/],
  ["a step that is none", () => ({ step: {} }), /"step" and "update", and returned neither/],
  ["both", () => ({ step: () => 0, update: () => 0 }), /one of the functions "step" and "update", and returned both/],
  ["no optimizers for its update", () => ({ update: () => ({}) }), /"update" needs "optimizers"/],
  ["no predict", () => ({ step: () => 0, predict: undefined }), /"build" returned no function "predict"/],
])("an algorithm that builds %s is refused with a clear error", (_, parts, words) => {
  const build = () => scope(() => learnerOf(parts));
  expect(build).toThrow(UsageError);
  expect(build).toThrow(words);
});

test.each<[which: string, step: StepOf, words: RegExp]>([
  ["nothing", () => undefined, /"step" returned nothing, expected \{ loss, features, logits \}/],
  ["the logits", ({ backbone }, { x }) => backbone.forward(x), /"step" returned a tensor, expected \{ loss/],
  ["a number as loss", () => ({ loss: 1, features: null }), /returned a number as its loss, expected a scalar tensor/],
  [
    "a loss a sample",
    ({ backbone }, { x }) => ({ loss: backbone.forward(x), features: null }),
    /a loss of shape \[\d+, \d+\], expected a scalar: take its mean or its sum/,
  ],
  [
    "no features, which the penalty would silently miss",
    ({ backbone, classifier }, { x, y }) => ({ loss: crossEntropy(classifier.forward(backbone.forward(x)), y) }),
    /"step" returned no features: penalties are taken of them/,
  ],
])("an algorithm whose step returns %s is refused with a clear error", (_, step, words) => {
  expect(() => updateWith(step)).toThrow(UsageError);
  expect(() => updateWith(step)).toThrow(words);
});

/**
 * Makes updates, and the check at the end of a run, until one throws an error. Returns its message, or null. While the backbone is frozen, only
 * the classifier is trained.
 */
function updatesOf(
  takesPenalty: (step: number) => boolean,
  isFrozen: (step: number) => boolean = () => false,
  updates = 100,
) {
  return scope(() => {
    using learner = learnerOf(({ backbone, classifier, adam }) => {
      const main = adam([...backbone.parameters(), ...classifier.parameters()]);
      const update = ({ x, y }: { x: never; y: never }, ctx: { step: number; penalty(f: unknown): never }) => {
        const features = isFrozen(ctx.step) ? noGrad(() => backbone.forward(x)) : backbone.forward(x);
        main.zeroGrad();
        const loss = crossEntropy(classifier.forward(features), y);
        (takesPenalty(ctx.step) ? loss.add(ctx.penalty(features)) : loss).backward();
        main.step();
        return { loss };
      };
      return { optimizers: { main }, update };
    });
    try {
      for (let step = 0; step < updates; step++) scope(() => learner.update(tinyBatch(vectors, step), step));
      learner.checkPenalties();
    } catch (error) {
      return (error as Error).message;
    }
    return null;
  });
}

test("an update that never applies the requested penalty is an error; one that applies it sometimes is not", () => {
  expect(updatesOf(() => false)).toMatch(
    /^algorithm Mine: 64 updates of the backbone should have added the penalty nuclear-norm, and none did/,
  );
  expect(updatesOf((step) => step % 8 === 7)).toBeNull();
  const never = () => false;
  expect(updatesOf(never, never, 30)).toMatch(/^algorithm Mine: 30 updates .* and none did; add ctx.penalty/); // a short run
  expect(updatesOf(never, () => true, 30)).toBeNull();
});

test("updates that do not change the backbone need no penalty", () => {
  const trainsBackbone = (step: number): boolean => step >= 80;
  const isFrozen = (step: number): boolean => !trainsBackbone(step);
  expect(updatesOf(trainsBackbone, isFrozen)).toBeNull();
  expect(
    updatesOf(
      () => false,
      (step) => step < 20,
    ),
  ).toMatch(/and none did/);
});

test("a mistake in the code of a hook is reported with the algorithm and the hook", () => {
  const broken = () => updateWith((_, { y }) => (y as never as { missing: { at(i: number): never } }).missing.at(0));
  expect(broken).toThrow(TypeError);
  expect(broken).toThrow(
    expect.objectContaining({ stack: expect.stringMatching(/^TypeError: algorithm Mine, in "step": Cannot read/) }),
  );
  expect(broken).toThrow(/^algorithm Mine, in "step": Cannot read properties of undefined/);
});
