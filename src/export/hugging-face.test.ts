/** Folders for Hugging Face, loaded by transformers.js: the same logits from the same pixels, and its own pipeline on files. */

import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { AutoModelForImageClassification, env, Tensor as JsTensor, pipeline } from "@huggingface/transformers";
import sharp from "sharp";
import { beforeAll, expect, onTestFinished, test } from "vitest";
import { parse } from "yaml";
import { storedColours, writeMadeModel } from "../../tests/support/made-model.js";
import { temporaryFolder } from "../../tests/support/picture-folder.js";
import { empty } from "../engine/ops.generated.js";
import { Random } from "../engine/random.js";
import { scope } from "../engine/scope.js";
import { readWeights } from "../engine/weights.js";
import { UsageError } from "../errors.js";
import { loadModel, type Model } from "../model/index.js";
import { exportHuggingFace } from "./hugging-face.js";

beforeAll(() => {
  env.allowRemoteModels = false;
  env.allowLocalModels = true;
  env.localModelPath = "";
});

const calibration = { temperature: 1.7, count: 10, quantiles: [] };

async function made(
  backbone: string,
  side: number,
  more: Record<string, unknown> = {},
): Promise<{ folder: string; model: Model }> {
  const folder = temporaryFolder();
  const inputShape = [3, side, side];
  const preprocessing = {
    kind: "pictures",
    inputShape,
    shortSide: 256,
    ...storedColours,
    ...(more.preprocessing as object),
  };
  const about = { calibration, ...more, preprocessing };
  writeMadeModel(join(folder, "model.safetensors"), { backbone, inputShape, about, probe: more.probe === true });
  const model = await loadModel(join(folder, "model.safetensors"));
  onTestFinished(() => model.dispose());
  return { folder, model };
}

test.each([
  ["resnet18", 64],
  ["mobilenet_v2", 64],
  ["vit_s_16", 32],
])(
  "%s: transformers.js computes the model's logits from the same pixels, divided by the temperature",
  async (backbone, side) => {
    const { folder, model } = await made(backbone, side);
    const { files } = exportHuggingFace(model, join(folder, "hub"));
    expect(readdirSync(join(folder, "hub"), { recursive: true }).map(String).sort()).toEqual([...files, "onnx"].sort());
    const theirs = await AutoModelForImageClassification.from_pretrained(join(folder, "hub"), { dtype: "fp32" });
    const { x, ours } = scope(() => {
      const x = new Random(2).normal_(empty([5, 3, side, side]));
      return { x: x.data() as Float32Array, ours: model.forward(x).logits.div(1.7).toArray() as number[][] };
    });
    const { logits } = await theirs({ pixel_values: new JsTensor("float32", x.slice(), [5, 3, side, side]) });
    const size = Math.max(...ours.flat().map(Math.abs));
    expect(size).toBeGreaterThan(0.1);
    for (const [i, value] of ours.flat().entries())
      expect(Math.abs(Number(logits.data[i]) - value)).toBeLessThan(1e-4 * Math.max(1, size));
  },
);

test("the stock pipeline prints the classes and probabilities of predict for a picture of the model's size", async () => {
  const { folder, model } = await made("resnet18", 64);
  exportHuggingFace(model, join(folder, "hub"));
  const pixels = Buffer.from(Uint8Array.from({ length: 64 * 64 * 3 }, (_, i) => (i * 31) % 256));
  const file = join(folder, "picture.png");
  writeFileSync(
    file,
    await sharp(pixels, { raw: { width: 64, height: 64, channels: 3 } })
      .png()
      .toBuffer(),
  );
  const classify = await pipeline("image-classification", join(folder, "hub"), { dtype: "fp32" });
  const scores = (await classify(file, { top_k: 3 })) as { label: string; score: number }[];
  const { top } = await model.predict(file);
  expect(scores.map(({ label }) => label)).toEqual(top.map(({ label }) => label));
  for (const [i, { score }] of scores.entries()) expect(Math.abs(score - top[i].probability)).toBeLessThan(1e-4);
});

test("a cropped picture is described to BitImageProcessor, a stretched one to ViTImageProcessor", async () => {
  const { folder, model } = await made("resnet18", 64, { preprocessing: { resize: 72, interpolation: "bicubic" } });
  exportHuggingFace(model, join(folder, "hub"));
  const cropped = JSON.parse(readFileSync(join(folder, "hub/preprocessor_config.json"), "utf8"));
  expect(cropped).toMatchObject({
    image_processor_type: "BitImageProcessor",
    size: { shortest_edge: 72 },
    crop_size: { height: 64, width: 64 },
    do_center_crop: true,
    resample: 3,
  });
  const stretched = await made("resnet18", 64);
  exportHuggingFace(stretched.model, join(stretched.folder, "hub"));
  expect(JSON.parse(readFileSync(join(stretched.folder, "hub/preprocessor_config.json"), "utf8"))).toMatchObject({
    image_processor_type: "ViTImageProcessor",
    size: { height: 64, width: 64 },
    do_center_crop: false,
    resample: 2,
  });
});

test("tensors have Hugging Face's names, and a probe's map is in the classifier", async () => {
  const { folder, model } = await made("resnet18", 64, { probe: true });
  exportHuggingFace(model, join(folder, "hub"));
  scope(() => {
    const tensors = readWeights(join(folder, "hub/model.safetensors"));
    for (const name of [
      "resnet.embedder.embedder.convolution.weight",
      "resnet.encoder.stages.1.layers.0.shortcut.normalization.running_var",
      "resnet.encoder.stages.3.layers.1.layer.1.normalization.num_batches_tracked",
    ])
      expect([...tensors.keys()]).toContain(name);
    const { classifier, backbone } = model.network.modules;
    const expected = classifier.stateDict().get("weight")!.matmul(backbone.stateDict().get("map.weight")!).div(1.7);
    expect(tensors.get("classifier.1.weight")!.toArray()).toEqual(expected.toArray());
  });
  const config = JSON.parse(readFileSync(join(folder, "hub/config.json"), "utf8"));
  expect(config).toMatchObject({
    model_type: "resnet",
    architectures: ["ResNetForImageClassification"],
    hidden_sizes: [64, 128, 256, 512],
    depths: [2, 2, 2, 2],
    layer_type: "basic",
    id2label: { 0: "cat", 1: "dog", 2: "fox" },
    label2id: { cat: 0, dog: 1, fox: 2 },
  });
});

test("the card starts with metadata that YAML can read, with a licence", async () => {
  const startingWeights = {
    hash: "0".repeat(16),
    licence: "BSD-3-Clause",
    metadata: { source: "torchvision: 'V1' #1" },
  };
  const { folder, model } = await made("resnet18", 64, { startingWeights });
  exportHuggingFace(model, join(folder, "hub"));
  const [, front, body] = readFileSync(join(folder, "hub/README.md"), "utf8").split(/^---$/m);
  expect(parse(front)).toMatchObject({
    license: "bsd-3-clause",
    library_name: "transformers",
    pipeline_tag: "image-classification",
    starting_weights: "torchvision: 'V1' #1",
  });
  expect(body).toContain("@huggingface/transformers");
});

test("what the format cannot express is an error that names the format that can, and nothing is written", async () => {
  const { folder, model } = await made("small-cnn", 32);
  const out = join(folder, "hub");
  expect(() => exportHuggingFace(model, out)).toThrow(/has no small-cnn; expected one of ResNet.*--format onnx/);
  expect(existsSync(out)).toBe(false);
  const taken = await made("resnet18", 64);
  mkdirSync(out);
  writeFileSync(join(out, "notes.txt"), "mine");
  expect(() => exportHuggingFace(taken.model, out)).toThrow(UsageError);
  expect(readdirSync(out)).toEqual(["notes.txt"]);
  expect(() => exportHuggingFace(taken.model, join(out, "notes.txt"))).toThrow("writes a folder");
  expect(readdirSync(folder).filter((name) => name.startsWith("."))).toEqual([]);
});
