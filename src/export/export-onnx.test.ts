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
import { Backbone, backbones, defineBackbone } from "../backbones/index.js";
import { TRANSFORMERS } from "../backbones/transformer-layouts.js";
import { VisionTransformer } from "../backbones/vision-transformer.js";
import type { Request } from "../declared-settings/keys.js";
import { loadNative } from "../engine/load.js";
import { call } from "../engine/operator.js";
import { cat, empty } from "../engine/ops.generated.js";
import { Random } from "../engine/random.js";
import { scope } from "../engine/scope.js";
import { noGrad, type Tensor, tensor } from "../engine/tensor.js";
import { readWeights, writeWeights } from "../engine/weights.js";
import { register } from "../library/register.js";
import { loadModel, type Model } from "../model/index.js";
import { BatchNorm, Conv2d, LayerScale, Linear, Parameter } from "../nn/index.js";
import { Lora } from "../nn/lora.js";
import { resolve } from "../settings/resolve.js";
import { makeLearner } from "../training/make-learner.js";
import { writeModel } from "../training/model-file.js";
import { exportOnnx } from "./export-onnx.js";

const folder = mkdtempSync(join(tmpdir(), "nudge-onnx-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let serial = 0;
const place = (ending: string): string => join(folder, `${serial++}.${ending}`);

/** Runs an exported model in onnxruntime, on one batch. */
async function onnxRun(path: string, x: Tensor, name = "input"): Promise<Record<string, Tensor>> {
  const session = await InferenceSession.create(path, { intraOpNumThreads: 1, graphOptimizationLevel: "basic" });
  const data = x.data() as Float32Array | Uint8Array;
  const outputs = await session.run({ [name]: new OrtTensor(data, x.shape) });
  await session.release();
  const tensors = Object.entries(outputs).map(([key, { data, dims }]) => [
    key,
    tensor(data as Float32Array, { shape: dims }),
  ]);
  return Object.fromEntries(tensors) as Record<string, Tensor>;
}

const largest = (a: Tensor, b: Tensor): number => a.sub(b).abs().max().item();

/**
 * Holds the exported model to the model itself: the same class and probabilities to 1e-4, for batches of several sizes. The
 * network is changed first so that pictures differ by more than 1 in their logits: fresh networks say nearly the same of all.
 */
async function expectSame(model: Model, batches: readonly number[], make = samplesFor(model)): Promise<void> {
  using all = make(6);
  spread(model, all);
  const path = place("onnx");
  exportOnnx(model, path);
  for (const count of batches) {
    using x = all.narrow(0, 0, count).clone();
    const { logits, features } = await onnxRun(path, x);
    scope(() => {
      const ours = model.forward(x);
      expect(logits.shape).toEqual(ours.logits.shape);
      expect(features.shape).toEqual(ours.features.shape);
      if (count > 1) expect(ours.logits.max(0).sub(ours.logits.min(0)).max().item()).toBeGreaterThan(1);
      expect(logits.argmax(1).toNumbers()).toEqual(ours.logits.argmax(1).toNumbers());
      expect(largest(logits.softmax(1), ours.logits.softmax(1))).toBeLessThan(1e-4);
      expect(largest(features, ours.features) / Math.max(1, ours.features.abs().max().item())).toBeLessThan(1e-4);
    });
  }
}

/** Takes batch norms' statistics from the samples, lets residual branches count, and scales the last layer so that logits differ by 4 between the first two. */
function spread({ network }: Model, x: Tensor): void {
  const layers = Object.values(network.modules).flatMap((module) => [...module.modules()].map(([, layer]) => layer));
  const norms = layers.filter((layer) => layer instanceof BatchNorm);
  const last = layers.findLast((layer) => layer instanceof Linear)!;
  scope(() =>
    noGrad(() => {
      for (const norm of norms) {
        norm.bias.mul_(0.2);
        Object.assign(norm, { training: true, frozen: false, momentum: 1 });
      }
      for (const layer of layers) if (layer instanceof LayerScale) layer.gamma.fill_(0.5);
      network.forward(x);
      for (const norm of norms) norm.eval();
      const { logits } = network.forward(x.narrow(0, 0, 2));
      const factor = 4 / largest(logits.select(0, 0), logits.select(0, 1));
      last.bias!.sub_(logits.mean(0)).mul_(factor);
      last.weight.mul_(factor);
    }),
  );
}

/** Samples that differ: pictures in colours of their own with noise on them, or numbers. */
const samplesFor =
  ({ about }: Model) =>
  (count: number): Tensor => {
    const [channels, ...sizes] = about.preprocessing.inputShape;
    const random = new Random(1, ["onnx"]);
    return scope(() => {
      const noise = random.for("noise").normal_(empty([count, channels, ...sizes]));
      const colours = random.for("colours").normal_(empty([count, channels, ...sizes.map(() => 1)]));
      return noise.mul(0.5).add(colours);
    });
  };

const SHAPES: Readonly<Record<string, readonly number[]>> = {
  mlp: [6],
  "linear-map": [6],
  "diagonal-map": [6],
  "mnist-cnn": [1, 28, 28],
  "small-cnn": [3, 16, 16],
  "toy-cnn": [3, 8, 8],
};

/** Larger networks have the operators of smaller ones: in their full size `npm run test:all` alone compares them. */
const isCompared = (id: string): boolean =>
  process.env.NUDGE_LONG !== undefined || !(id in TRANSFORMERS || id === "resnet34" || LARGER_BACKBONES.includes(id));

test.each(Object.keys(backbones).filter(isCompared))("%s predicts in ONNX as here", async (backbone) => {
  const path = place("safetensors");
  const usual = /14/.test(backbone) ? [3, 28, 28] : [3, 32, 32];
  writeMadeModel(path, { backbone, inputShape: SHAPES[backbone] ?? usual });
  using model = await loadModel(path);
  await expectSame(model, [1, 5]);
});

test.each(Object.entries(TRANSFORMERS))("%s with two narrow blocks predicts in ONNX as here", async (id, layout) => {
  const small = { ...layout, width: 48, depth: 2, heads: 3, ...("projection" in layout && { projection: 40 }) };
  const backbone = `small_${id}`;
  register(
    defineBackbone({
      ...{ id: backbone, title: backbone, paper: "none" },
      build: (options) => new VisionTransformer(backbone, small, options),
    }),
  );
  const path = place("safetensors");
  writeMadeModel(path, { backbone, inputShape: [3, 2 * layout.patch, 2 * layout.patch] });
  using model = await loadModel(path);
  await expectSame(model, [1, 5]);
});

test("the map that a probe trains on a frozen network is written too", async () => {
  const path = place("safetensors");
  writeMadeModel(path, { probe: true });
  using model = await loadModel(path);
  await expectSame(model, [2, 3]);
});

/** A learner's model, not trained: the way of predicting is what counts. */
async function modelOf(request: Request): Promise<Model> {
  const plan = await resolve({ data: "shapes", "data.size": 16, testDomains: "inverted", batchSize: 2, ...request });
  using learner = makeLearner(plan);
  const path = place("safetensors");
  using sample = samplesOf(2, 16);
  writeModel(path, { plan, learner, sample, model: "current", step: 0 });
  return loadModel(path);
}
const samplesOf = (count: number, size: number): Tensor =>
  new Random(0, ["onnx", count]).normal_(empty([count, 3, size, size]));

test.each([
  ["mDSDI, from two backbones", { algorithm: "mdsdi" }],
  ["ARM, for which a batch is one group", { algorithm: "arm", contextWidth: 8, batchSize: 16 }],
  ["MTL with the mean of its batch", { algorithm: "mtl", noise: false }],
  ["a classifier of three layers", { algorithm: "erm", nonlinearClassifier: true }],
  ["URM, with an activation of its own", { algorithm: "urm" }],
  ["any other algorithm", { algorithm: "sag-net" }],
])("%s predicts in ONNX as here", async (_, request) => {
  using model = await modelOf(request);
  await expectSame(model, [1, 2, 4]);
});

test("LoRA is part of the weights in ONNX, and of the network's answers", async () => {
  const request = { data: "shapes", "data.size": 32, testDomains: "inverted", batchSize: 2 };
  const weights = place("safetensors");
  {
    using backbone = new VisionTransformer("vit_s_16", TRANSFORMERS.vit_s_16, { inputShape: [3, 32, 32] });
    writeWeights(weights, backbone.initialize(new Random(1)).stateDict());
  }
  const plan = await resolve({ ...request, backbone: "vit_s_16", weights, lora: 2 });
  using learner = makeLearner(plan);
  const adapters = Object.values(learner.modules)
    .flatMap((module) => [...module.modules()])
    .flatMap(([, layer]) => (layer instanceof Lora ? [layer] : []));
  expect(adapters.length).toBeGreaterThan(0);
  noGrad(() => {
    for (const [i, { b }] of adapters.entries()) new Random(i).normal_(b, 0, 0.3); // as if trained: it starts at 0
  });
  const path = place("safetensors");
  using x = samplesOf(3, 32);
  writeModel(path, { plan, learner, sample: x, model: "current", step: 0 });
  using model = await loadModel(path);
  const onnx = place("onnx");
  exportOnnx(model, onnx);
  const { logits } = await onnxRun(onnx, x);
  scope(() => {
    const own = learner.predict(x);
    expect(largest(logits, own)).toBeLessThan(1e-4);
    noGrad(() => {
      for (const { b } of adapters) b.zero_();
    });
    expect(largest(logits, learner.predict(x))).toBeGreaterThan(0.01);
  });
  const { readFileSync } = await import("node:fs");
  expect(readFileSync(onnx, "latin1")).not.toContain("lora.a");
});

test("MTL with noise is refused with a clear error", async () => {
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

test("probabilities at the model's temperature and the distance percentile are further outputs", async () => {
  const path = place("safetensors");
  const random = new Random(5);
  const width = 8;
  scope(() => {
    const [means, domainMeans, spreads] = [
      [6, width],
      [2, width],
      [1, width],
    ].map((shape, i) => random.for(`statistics ${i}`).uniform_(empty(shape), 0, 0.3));
    const quantiles = random
      .for("quantiles")
      .uniform_(empty([400]), 0.3, 2.5)
      .sort()[0];
    writeMadeModel(path, {
      about: { distance: { fitted: 60, compared: 400 }, calibration: { temperature: 2.5, count: 400, quantiles: [] } },
      tensors: {
        ...{ "distance/means": means, "distance/domainMeans": domainMeans, "distance/quantiles": quantiles },
        "distance/variances": spreads.select(0, 0).square().add(0.01),
      },
    });
  });
  using model = await loadModel(path);
  expect(model.width).toBe(width);
  using x = samplesFor(model)(6);
  spread(model, x);
  const onnx = place("onnx");
  exportOnnx(model, onnx, { probabilities: true, percentile: true });
  const { probabilities, percentile } = await onnxRun(onnx, x);
  const own = model.predictTensor(x, { top: 3 });
  const percentiles = own.map(({ distance }) => distance!.percentile);
  expect(new Set(percentiles).size).toBeGreaterThan(2); // they differ, and are not all 0 or 100
  expect(percentile.toNumbers()).toEqual(percentiles.map((value) => expect.closeTo(value, 0))); // a step is 0.25
  const probable = (probabilities.toArray() as number[][]).map((row) => Math.max(...row));
  expect(probable).toEqual(own.map(({ probability }) => expect.closeTo(probability, 4)));
});

test("an output that the model does not have is refused, and nothing is written", async () => {
  const path = place("safetensors");
  writeMadeModel(path, { backbone: "mlp", inputShape: [6] });
  using model = await loadModel(path);
  const onnx = place("onnx");
  expect(() => exportOnnx(model, onnx, { percentile: true })).toThrow("no statistics of distance");
  expect(() => exportOnnx(model, onnx, { input: "pixels" })).toThrow("takes no pictures");
  expect(existsSync(onnx)).toBe(false);
});

/** A backbone that no file here describes: patches, attention over them, and the mean. */
class Patches extends Backbone {
  readonly width = 24;
  readonly embed = new Conv2d(3, 24, { kernel: 4, stride: 4 });
  readonly both = new Linear(24, 72);
  readonly token = new Parameter(empty([1, 1, 24]));

  constructor(
    readonly inputShape: readonly number[],
    readonly odd: boolean,
  ) {
    super();
  }

  protected override reset(random: Random): void {
    random.for("token").normal_(this.token);
  }

  forward(x: Tensor): Tensor {
    const patches = this.embed.forward(x).flatten(2).transpose(1, 2); // [n, patches, 24]
    const tokens = cat([this.token.expand([x.rows, -1, -1]), patches], 1);
    const [q, k, v] = this.both.forward(tokens).chunk(3, 2);
    const seen = q.matmul(k.transpose(1, 2)).div(Math.sqrt(24)).softmax(-1).matmul(v).add(tokens);
    const gated = this.odd ? (call("aten::logit", seen.sigmoid()) as Tensor) : seen.sigmoid().mul(seen);
    return gated.select(1, 0);
  }
}

test("the backbone of a plug-in is written like any other, and what it has of unknown operators is named", async () => {
  for (const odd of [false, true])
    register(
      defineBackbone({
        ...{ id: odd ? "odd-patches" : "patches", title: odd ? "Odd" : "Patches", paper: "none" },
        build: ({ inputShape = [3, 16, 16] } = {}) => new Patches(inputShape, odd),
      }),
    );
  for (const backbone of ["patches", "odd-patches"])
    writeMadeModel(join(folder, backbone), { backbone, inputShape: [3, 16, 16] });
  using model = await loadModel(join(folder, "patches"));
  await expectSame(model, [1, 4]);
  using odd = await loadModel(join(folder, "odd-patches"));
  const onnx = place("onnx");
  expect(() => exportOnnx(odd, onnx)).toThrow(
    "export to ONNX: aten::logit, in backbone: the operator has no translation; take --format safetensors",
  );
  expect(existsSync(onnx)).toBe(false);
});

test("tracing leaves the model as it was, and no tensors behind", async () => {
  const path = place("safetensors");
  writeMadeModel(path, { backbone: "mobilenet_v2", inputShape: [3, 32, 32] });
  using model = await loadModel(path);
  using x = samplesFor(model)(3);
  const predict = (): number[] => scope(() => model.forward(x).logits.toNumbers());
  const [before, live] = [predict(), loadNative().liveTensors()];
  exportOnnx(model, place("onnx"));
  expect(predict()).toEqual(before);
  expect(loadNative().liveTensors()).toBe(live);
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
  await expectSame(model, [2], () => squares());
});
