/**
 * Every algorithm on a small vision transformer with registers, layer scale and stochastic depth, and on one with LoRA: with the
 * nuclear norm it stays finite, predicts, and resumes from a saved state to the same bytes. MixStyle says what it needs.
 */

import { expect, test } from "vitest";
import { algorithms } from "../../src/algorithms/index.js";
import { addLora } from "../../src/backbones/add-lora.js";
import { type Backbone, type TransformerLayout, VisionTransformer } from "../../src/backbones/index.js";
import { liveTensors } from "../../src/engine/device.js";
import { Random } from "../../src/engine/random.js";
import { scope } from "../../src/engine/scope.js";
import { nuclearNorm } from "../../src/regularizers/index.js";
import { Learner } from "../../src/training/learner.js";
import { CLASSES, DOMAINS, type TinyData, tinyBatch } from "../support/tiny-data.js";

const data: TinyData = { name: "3×12×12 arrays", inputShape: [3, 12, 12], samples: 3, backbone: "vit_s_16" };
const layout: TransformerLayout = {
  ...{ width: 8, depth: 4, heads: 2, patch: 4, side: 12, registers: 2, layerScale: true },
  variant: { eps: 1e-6, gelu: "exact", positions: "timm" },
};

function makeBackbone(seed: number, extraChannels: number, lora: boolean): Backbone {
  const inputShape = [3 + extraChannels, 12, 12];
  const backbone = new VisionTransformer("small", layout, { inputShape, stochasticDepth: 0.2 });
  backbone.initialize(new Random(seed, ["backbone"]));
  return lora ? addLora(backbone, { rank: 2, alpha: 2, targets: ["q", "v"] }, new Random(seed)) : backbone;
}

function makeLearner(id: string, { start = 0, lora = false } = {}): Learner {
  const algorithm = algorithms[id];
  return new Learner({
    algorithm,
    makeBackbone: () => makeBackbone(start, algorithm.backbone?.extraChannels ?? 0, lora),
    classes: CLASSES,
    domains: DOMAINS,
    regularizers: [nuclearNorm({ weight: 0.01, warmup: 0 })],
    hparams: { lr: 1e-3, batchSize: data.samples },
  });
}

const advance = (learner: Learner, from: number, to: number): void => {
  for (let step = from; step < to; step++)
    scope(() => expect(Object.values(learner.update(tinyBatch(data, step), step)).every(Number.isFinite)).toBe(true));
};

const bytesOf = (learner: Learner): unknown =>
  Array.from(learner.state().tensors, ([name, value]) => [name, Buffer.from(value.bytes()).toString("base64")]);

const IDS = Object.keys(algorithms).filter((id) => algorithms[id].backbone?.stages !== "maps");

function conform(id: string, lora: boolean): void {
  const before = liveTensors();
  scope(() => {
    using learner = makeLearner(id, { lora });
    advance(learner, 0, 2);
    const { tensors, numbers } = learner.state();
    const saved = {
      tensors: new Map([...tensors].map(([name, value]) => [name, value.detach().clone()])),
      numbers: structuredClone(numbers),
    };
    using resumed = makeLearner(id, { lora });
    resumed.loadState(saved);
    advance(learner, 2, 4);
    advance(resumed, 2, 4);
    expect(bytesOf(resumed)).toEqual(bytesOf(learner));
    const [{ x }] = tinyBatch(data, 9);
    expect(learner.predict(x).shape).toEqual([data.samples, CLASSES]);
  });
  expect(liveTensors()).toBe(before);
}

test.each(IDS)("%s trains a vision transformer and resumes to the same bytes", (id) => conform(id, false));

test.each(["erm", "coral", "miro", "iga", "fish"])("%s trains LoRA and resumes to the same bytes", (id) =>
  conform(id, true),
);

test("MixStyle refuses a vision transformer before training", () => {
  expect(() => makeLearner("mix-style")).toThrow("MixStyle needs a backbone with intermediate maps");
});
