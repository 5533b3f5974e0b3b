/**
 * The convolutional families that start from published weights, at the smallest size of each, in a learner: with the nuclear norm,
 * stochastic depth and frozen blocks, in the layout that the CPU trains them in. Updates stay finite and leave nothing behind, a
 * saved state goes on to the same bytes, and the methods that look into a network find its stages.
 */

import { expect, test } from "vitest";
import { algorithms } from "../../src/algorithms/index.js";
import { type Freeze, freezeBackbone } from "../../src/backbones/depth.js";
import { backboneNamed } from "../../src/backbones/index.js";
import { usesChannelsLast } from "../../src/backbones/layout.js";
import { liveTensors } from "../../src/engine/device.js";
import { Random } from "../../src/engine/random.js";
import { scope } from "../../src/engine/scope.js";
import { nuclearNorm } from "../../src/regularizers/index.js";
import { Learner } from "../../src/training/learner.js";
import { CLASSES, DOMAINS, type TinyData, tinyBatch } from "../support/tiny-data.js";

const FAMILIES = ["efficientnet_b0", "regnet_y_400mf", "convnext_tiny", "clip_rn50"] as const;

const pictures: TinyData = { name: "3×32×32 pictures", inputShape: [3, 32, 32], samples: 2, backbone: "" };

function makeLearner(id: string, algorithm: string, freeze?: Freeze): Learner {
  const { build, stochasticDepth: has } = backboneNamed(id);
  return new Learner({
    algorithm: algorithms[algorithm],
    makeBackbone: () => {
      const options = { inputShape: pictures.inputShape, ...(has && { stochasticDepth: 0.3 }) };
      const backbone = build(options).initialize(new Random(1));
      return freeze ? freezeBackbone(backbone, freeze) : backbone;
    },
    classes: CLASSES,
    domains: DOMAINS,
    hparams: { lr: 1e-4 },
    regularizers: [nuclearNorm({ weight: 0.01, warmup: 0 })],
    channelsLast: usesChannelsLast({ ...pictures, backbone: id, device: "cpu", precision: "float32" }),
    optimization: { layerDecay: 0.8 },
  });
}

const texts = (learner: Learner): Map<string, string> =>
  new Map([...learner.stateDict()].map(([name, each]) => [name, Buffer.from(each.data().buffer).toString("base64")]));

test.each(FAMILIES)("%s trains partially frozen, and resumes from a saved state to the same bytes", (id) => {
  const before = liveTensors();
  scope(() => {
    using learner = makeLearner(id, "erm", "all-but-4");
    const step = (each: Learner, number: number): void => {
      expect(each.update(tinyBatch(pictures, number), number).loss).toBeGreaterThan(0);
    };
    step(learner, 0);
    const live = liveTensors();
    step(learner, 1);
    expect(liveTensors()).toBe(live + 2 * DOMAINS); // the batch, which the scope around has
    using resumed = makeLearner(id, "erm", "all-but-4");
    resumed.loadState(learner.state());
    for (const each of [learner, resumed]) step(each, 2);
    expect(texts(resumed)).toEqual(texts(learner));
    expect(learner.predict(tinyBatch(pictures, 3)[0].x).isfinite().allTrue().item()).toBe(1);
  });
  expect(liveTensors()).toBe(before);
});

test.each(FAMILIES)("%s has stages for MIRO and MixStyle", (id) => {
  scope(() => {
    for (const algorithm of ["miro", "mix-style"]) {
      using learner = makeLearner(id, algorithm);
      expect(learner.update(tinyBatch(pictures, 0), 0).loss).toBeGreaterThan(0);
    }
  });
});
