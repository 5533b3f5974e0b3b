/** The ONNX files in onnxruntime, against our own logits: every backbone, every way of predicting, any batch size. */

import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { InferenceSession, Tensor as OrtTensor } from "onnxruntime-node";
import { afterAll, expect, test } from "vitest";
import { LARGER_BACKBONES } from "../../tests/support/larger-backbones.js";
import { writeMadeModel } from "../../tests/support/made-model.js";
import { squares } from "../../tests/support/picture.js";
import { backbones } from "../backbones/index.js";
import { empty } from "../engine/ops.generated.js";
import { Random } from "../engine/random.js";
import { scope } from "../engine/scope.js";
import { type Tensor, tensor } from "../engine/tensor.js";
import { readWeights } from "../engine/weights.js";
import { loadModel, type Model } from "../model/index.js";
import type { Request } from "../settings/keys.js";
import { resolve } from "../settings/resolve.js";
import { makeLearner } from "../training/make-learner.js";
import { writeModel } from "../training/model-file.js";
import { exportOnnx } from "./export-onnx.js";

const folder = mkdtempSync(join(tmpdir(), "nudge-onnx-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let serial = 0;
const place = (ending: string): string => join(folder, `${serial++}.${ending}`);

/** The largest difference from our logits and features, over batches of several sizes; the export is run in onnxruntime. */
async function worstDifference(model: Model, batches: readonly number[], make = samplesFor(model)): Promise<number> {
  const path = place("onnx");
  exportOnnx(model, path);
  const session = await InferenceSession.create(path, { intraOpNumThreads: 1, graphOptimizationLevel: "basic" });
  const differences: number[] = [];
  for (const count of batches) {
    using x = make(count);
    const input = new OrtTensor("float32", x.data() as Float32Array, x.shape);
    const { logits, features } = await session.run({ input });
    scope(() => {
      const ours = model.forward(x);
      for (const [theirs, own] of [
        [logits, ours.logits],
        [features, ours.features],
      ] as const) {
        expect(theirs.dims).toEqual(own.shape);
        const scale = Math.max(1, own.abs().max().item());
        differences.push(
          tensor(theirs.data as Float32Array, { shape: own.shape })
            .sub(own)
            .abs()
            .max()
            .item() / scale,
        );
      }
    });
  }
  await session.release();
  return Math.max(...differences);
}

const samplesFor =
  ({ about }: Model) =>
  (count: number): Tensor =>
    new Random(count, ["onnx"]).normal_(empty([count, ...about.preprocessing.inputShape]));

const SHAPES: Readonly<Record<string, readonly number[]>> = {
  mlp: [6],
  "linear-map": [6],
  "diagonal-map": [6],
  "mnist-cnn": [1, 28, 28],
  "small-cnn": [3, 16, 16],
  "toy-cnn": [3, 8, 8],
};

/** Families that have no description as ONNX nodes, and are refused by name. */
const UNWRITTEN = ["efficientnet", "regnet", "convnext", "vit", "dinov2", "clip"];

const written = Object.keys(backbones).filter((id) => !LARGER_BACKBONES.includes(id));

test.each(written.filter((id) => !UNWRITTEN.some((family) => id.startsWith(family))))(
  "%s in ONNX gives our logits and features to 1e-4",
  async (backbone) => {
    const path = place("safetensors");
    writeMadeModel(path, { backbone, inputShape: SHAPES[backbone] ?? [3, 32, 32] });
    using model = await loadModel(path);
    expect(await worstDifference(model, [1, 3])).toBeLessThan(1e-4);
  },
);

test("the map that a probe trains on a frozen network is written too", async () => {
  const path = place("safetensors");
  writeMadeModel(path, { probe: true });
  using model = await loadModel(path);
  expect(await worstDifference(model, [2])).toBeLessThan(1e-4);
});

/** A learner's model, not trained: the way of predicting is what counts. */
async function modelOf(request: Request): Promise<Model> {
  const plan = await resolve({ data: "shapes", "data.size": 16, testDomains: "inverted", batchSize: 2, ...request });
  using learner = makeLearner(plan);
  const path = place("safetensors");
  using sample = samples16(2);
  writeModel(path, { plan, learner, sample, model: "current", step: 0 });
  return loadModel(path);
}
const samples16 = (count: number): Tensor => new Random(0, ["onnx", count]).normal_(empty([count, 3, 16, 16]));

test.each([
  ["mDSDI, from two backbones", { algorithm: "mdsdi" }],
  ["ARM, which adapts to groups of two in its batch", { algorithm: "arm", contextWidth: 8 }],
  ["MTL with the mean of its batch", { algorithm: "mtl", noise: false }],
  ["a classifier of three layers", { algorithm: "erm", nonlinearClassifier: true }],
  ["any other algorithm", { algorithm: "sag-net" }],
])("%s predicts in ONNX as here", async (_, request) => {
  using model = await modelOf(request);
  expect(await worstDifference(model, [1, 2, 3, 4])).toBeLessThan(1e-4); // ARM: 2 and 4 divide into its groups, 3 is one
});

test("MTL with noise is refused in words", async () => {
  using model = await modelOf({ algorithm: "mtl" });
  expect(() => exportOnnx(model, place("onnx"))).toThrow("MTL's predictions are random");
});

test("pixels may go in instead, and come to the same as prepared pictures", async () => {
  const path = place("safetensors");
  writeMadeModel(path);
  using model = await loadModel(path);
  const onnx = place("onnx");
  exportOnnx(model, onnx, { input: "pixels" });
  const session = await InferenceSession.create(onnx);
  const bytes = Uint8Array.from({ length: 2 * 8 * 8 * 3 }, (_, i) => (i * 37) & 255);
  const { logits } = await session.run({ pixels: new OrtTensor("uint8", bytes, [2, 8, 8, 3]) });
  const { preprocessing } = model.about;
  if (preprocessing.kind !== "pictures") throw new Error("expected a model of pictures");
  const { mean, std } = preprocessing;
  const values = Float32Array.from({ length: bytes.length }, (_, i) => {
    const [n, rest] = [Math.floor(i / 192), i % 192];
    const channel = Math.floor(rest / 64);
    return (bytes[n * 192 + (rest % 64) * 3 + channel] / 255 - mean[channel]) / std[channel];
  });
  scope(() => {
    const own = model.forward(tensor(values, { shape: [2, 3, 8, 8] })).logits.toNumbers();
    expect(Array.from(logits.data as Float32Array)).toEqual(own.map((value) => expect.closeTo(value, 4)));
  });
});

test("labels, preprocessing and licence are in the file, and its bytes are the same each time", async () => {
  const path = place("safetensors");
  writeMadeModel(path, {
    about: { startingWeights: { hash: "0123456789abcdef", licence: "BSD-3-Clause", metadata: {} } },
  });
  using model = await loadModel(path);
  const [one, two] = [place("onnx"), place("onnx")];
  for (const file of [one, two]) exportOnnx(model, file, { version: "1.2.3" });
  const { readFileSync } = await import("node:fs");
  const text = readFileSync(one, "latin1");
  expect(readFileSync(two, "latin1")).toBe(text);
  for (const words of ['["cat","dog","fox"]', "Starting weights: BSD-3-Clause", "resized to exactly 8×8"])
    expect(text).toContain(Buffer.from(words).toString("latin1"));
});

const WEIGHTS = fileURLToPath(new URL("../../../shared/pretrained/mobilenet_v2-imagenet.safetensors", import.meta.url));

test("MobileNetV2 with its ImageNet weights gives our logits to 1e-4", async ({ skip }) => {
  skip(!existsSync(WEIGHTS), "skipped: ../shared/pretrained/mobilenet_v2-imagenet.safetensors is not there");
  const path = place("safetensors");
  scope(() => {
    const trained = [...readWeights(WEIGHTS)].filter(([name]) => !name.startsWith("classifier."));
    const tensors = Object.fromEntries(trained.map(([name, value]) => [`backbone.${name}`, value]));
    writeMadeModel(path, { backbone: "mobilenet_v2", inputShape: [3, 224, 224], tensors });
  });
  using model = await loadModel(path);
  expect(await worstDifference(model, [2], () => squares())).toBeLessThan(1e-4);
});
