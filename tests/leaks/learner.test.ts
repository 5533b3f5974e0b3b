/** A learner that cannot be built frees what it had made, wherever it fails. */

import { expect, test } from "vitest";
import type { AlgorithmDefinition } from "../../src/algorithms/algorithm.js";
import { algorithms } from "../../src/algorithms/index.js";
import { liveTensors } from "../../src/engine/device.js";
import { Linear } from "../../src/nn/index.js";
import { Learner, type LearnerOptions } from "../../src/training/learner.js";
import { arrays, CLASSES, DOMAINS, tinyBackbone, vectors } from "../support/tiny-data.js";

const optionsFor = (algorithm: AlgorithmDefinition): LearnerOptions => ({
  algorithm,
  makeBackbone: () => tinyBackbone(arrays, 0, algorithm.backbone?.extraChannels),
  classes: CLASSES,
  domains: DOMAINS,
});

function expectNothingLeft(options: LearnerOptions, words: string): void {
  const before = liveTensors();
  expect(() => new Learner(options)).toThrow(words);
  expect(liveTensors()).toBe(before);
}

test.each(Object.values(algorithms).map((algorithm) => [algorithm.title, algorithm] as const))(
  "%s, failing after all has been built",
  (_, algorithm) => {
    const build: AlgorithmDefinition["build"] = (context) => {
      algorithm.build(context);
      throw new Error("after all");
    };
    expectNothingLeft(optionsFor({ ...algorithm, build }), "after all");
  },
);

test("nothing leaks if the caller's function, the optimizer or a wrong backbone fails", () => {
  const { erm, mldg, miro } = algorithms;
  let made = 0;
  const makeClassifier = (inputs: number, outputs: number): Linear => {
    if (++made === 2) throw new Error("no more classifiers");
    return new Linear(inputs, outputs);
  };
  const twice: AlgorithmDefinition["build"] = ({ classifier, makeClassifier: another, ...context }) => {
    another(1, 1);
    return erm.build({ ...context, classifier, makeClassifier: another });
  };
  expectNothingLeft({ ...optionsFor({ ...erm, build: twice }), makeClassifier }, "no more classifiers");
  expectNothingLeft({ ...optionsFor(erm), hparams: { lr: -1 } }, "-1");
  expectNothingLeft({ ...optionsFor(mldg), hparams: { pairing: "meta-test", nMetaTest: 9 } }, "got nMetaTest=9");
  expectNothingLeft({ ...optionsFor(miro), makeBackbone: () => tinyBackbone(vectors, 0) }, "intermediate maps");
});
