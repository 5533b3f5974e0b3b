/** Model files that a stranger made: whatever is in them, they are refused in words that name the file, and nothing is run. */

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { main } from "../../src/cli/main.js";
import { liveTensors } from "../../src/engine/device.js";
import { zeros } from "../../src/engine/ops.generated.js";
import { keyedRandom } from "../../src/engine/philox.js";
import { scope } from "../../src/engine/scope.js";
import { tensor } from "../../src/engine/tensor.js";
import { DataError } from "../../src/errors.js";
import { loadModel, readModelAbout } from "../../src/model/index.js";
import { writeMadeModel } from "../support/made-model.js";
import { makePictureFolder } from "../support/made-pictures.js";
import { catchPrinted } from "../support/printed.js";

const folder = mkdtempSync(join(tmpdir(), "nudge-hostile-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const printed = catchPrinted();

const path = join(folder, "model.safetensors");
const shape = [3, 8, 8];
const plain = { kind: "plain", classifier: "linear" };
const pictures = { kind: "pictures", inputShape: shape, shortSide: 256, mean: [0, 0, 0], std: [1, 1, 1] };
const options = { inputShape: shape, dropout: 0, batchNorm: "frozen" };
const long = "x".repeat(100_000);
const armed = (hparams: object) => ({ kind: "algorithm", classifier: "linear", id: "arm", hparams, domains: 2 });

/** What the metadata says, and words of the refusal. */
const lies: [what: string, about: Record<string, unknown>, words: string][] = [
  ["a format of the future", { format: 99 }, "this version reads formats up to 4"],
  ["a format that is no number", { format: "2; drop" }, "nudge.format: expected an integer"],
  ["a checkpoint's facts", { next: 3 }, "this is a checkpoint and not a model"],
  ["a backbone that there is not", { backbone: "resnet9000" }, 'unknown backbone "resnet9000"'],
  ["a backbone from the prototype", { backbone: "__proto__" }, 'unknown backbone "__proto__"'],
  ["a backbone that is a path", { backbone: "../../etc/passwd" }, "unknown backbone"],
  ["a constructor for a backbone", { backbone: "constructor" }, 'unknown backbone "constructor"'],
  ["a backbone of the wrong kind", { backbone: { id: 1 } }, "nudge.backbone: expected a text"],
  [
    "another backbone than its tensors are of",
    { backbone: "resnet18", width: 512 },
    "could not be built: loading weights",
  ],
  ["a width that is not the backbone's", { width: 9 }, "nudge.width: expected toy-cnn's 8, got 9"],
  ["an absurd width", { width: 1e300 }, "nudge.width: expected an integer"],
  ["more classes than the head", { classes: ["a", "b", "c", "d"] }, "wrong shape of classifier.weight"],
  ["fewer classes than the head", { classes: ["a"] }, "wrong shape of classifier.weight"],
  ["no classes", { classes: [] }, "nudge.classes: expected at least 1 different names"],
  ["classes that are no texts", { classes: [1, 2, 3] }, "nudge.classes"],
  ["one class twice", { classes: ["a", "a", "b"] }, "nudge.classes"],
  ["a class of a hundred thousand letters", { classes: [long, "b", "c"] }, "nudge.classes"],
  ["an input of terabytes", { backboneOptions: { ...options, inputShape: [3, 1e9, 1e9] } }, "inputShape"],
  ["a negative input", { backboneOptions: { ...options, inputShape: [3, -8, 8] } }, "inputShape"],
  ["half a pixel", { preprocessing: { ...pictures, inputShape: [3, 8.5, 8.5] } }, "inputShape"],
  ["pictures of five channels", { preprocessing: { ...pictures, inputShape: [5, 8, 8] } }, "three channels"],
  ["a deviation of zero", { preprocessing: { ...pictures, std: [1, 0, 1] } }, "preprocessing.std"],
  ["a mean that is no number", { preprocessing: { ...pictures, mean: ["0", 0, 0] } }, "preprocessing.mean"],
  ["a short side of nothing", { preprocessing: { ...pictures, shortSide: 0 } }, "shortSide"],
  ["preprocessing of an unknown kind", { preprocessing: { ...pictures, kind: "eval" } }, '"pictures" or "arrays"'],
  [
    "an mlp of more width than the file has numbers",
    { backbone: "mlp", backboneOptions: { inputShape: [16e6], dropout: 0, batchNorm: "frozen", width: 16e6 } },
    "too few for width",
  ],
  [
    "an mlp of a thousand layers",
    { backbone: "mlp", backboneOptions: { inputShape: [6], dropout: 0, batchNorm: "frozen", width: 4, depth: 1000 } },
    "too few for width",
  ],
  ["an algorithm that there is not", { prediction: { ...armed({}), id: "hack" } }, '"hack", which is not known here'],
  ["an algorithm from the prototype", { prediction: { ...armed({}), id: "toString" } }, "which is not known here"],
  [
    "a hyperparameter of the wrong kind",
    { prediction: armed({ contextWidth: "64" }) },
    "contextWidth: expected a number",
  ],
  ["a hyperparameter that is an object", { prediction: armed({ contextWidth: { valueOf: 1 } }) }, "a plain value"],
  ["a context network of terabytes", { prediction: armed({ contextWidth: 1e7 }) }, "could not be built"],
  ["a variant that there is not", { prediction: armed({ contextNet: "evil" }) }, "could not be built"],
  ["groups of no pictures", { prediction: armed({ batchSize: 0 }) }, "batchSize"],
  ["a module that the network has not", { modules: ["backbone", "classifier", "shell"] }, 'has no module "shell"'],
  ["no modules", { modules: [] }, "nudge.modules"],
  ["a classifier of an unknown kind", { prediction: { ...plain, classifier: "exec" } }, "prediction.classifier"],
  ["a distance without its tensors", { distance: { fitted: 5, compared: 5 } }, "distance/means"],
  ["a distance of minus one pictures", { distance: { fitted: -1, compared: 5 } }, "distance.fitted"],
  ["settings that are a list", { settings: [] }, "nudge.settings: expected values by name"],
  ["a licence that is an object", { startingWeights: { hash: null, licence: {}, metadata: {} } }, "licence"],
];

test.each(lies)("%s is refused", async (_, about, words) => {
  const before = liveTensors();
  writeMadeModel(path, { about });
  const refused = loadModel(path);
  await expect(refused).rejects.toThrow(DataError);
  await expect(refused).rejects.toThrow(words);
  await expect(refused).rejects.toThrow(path);
  expect(liveTensors()).toBe(before);
});

test("a missing required module is reported before anything is predicted", async () => {
  const tensors = { "classifier.weight": null, "classifier.bias": null };
  writeMadeModel(path, { about: { modules: ["backbone"] }, tensors });
  await expect(loadModel(path)).rejects.toThrow(DataError);
});

test("tensors that do not match the network are refused, and so are missing ones", async () => {
  const before = liveTensors();
  for (const [tensors, words] of [
    [{ "classifier.weight": null }, "missing classifier.weight"],
    [{ "shell.weight": zeros([1]) }, "unexpected shell.weight"],
    [{ "backbone.stem.weight": zeros([1, 1, 1, 1]) }, "wrong shape of backbone.stem.weight"],
    [{ "classifier.weight": zeros([3, 8], { dtype: "complex64" }) }, "expected float32, got complex64"],
    [{ "classifier.weight": zeros([3, 8], { dtype: "uint8" }) }, "expected float32, got uint8"],
  ] as const) {
    writeMadeModel(path, { tensors });
    for (const each of Object.values(tensors)) each?.dispose();
    await expect(loadModel(path)).rejects.toThrow(words);
  }
  expect(liveTensors()).toBe(before);
});

test("a model with numbers that are not finite reports it instead of predicting", async () => {
  using nan = tensor([[Number.NaN]])
    .expand([3, 8])
    .contiguous();
  writeMadeModel(path, { tensors: { "classifier.weight": nan } });
  using model = await loadModel(path);
  const bytes = readFileSync(new URL("../../docs/figures/synthetic-figure-2.svg", import.meta.url));
  await expect(model.predict(bytes)).rejects.toThrow(DataError); // an SVG is no picture here
  scope(() => expect(() => model.predictTensor(zeros([1, ...shape]))).toThrow("returned values that are not finite"));
});

test.each([
  ["no file", null, 2],
  ["an empty file", Buffer.alloc(0), 1],
  ["a text", Buffer.from("#!/bin/sh\nrm -rf /\n"), 1],
  ["a header of terabytes", Buffer.from("ffffffffffffff7f7b7d", "hex"), 1],
  ["a zip with a pickle", readFileSync(new URL("../vectors/pth/zip.pth", import.meta.url)), 1],
])("%s is refused by every command that reads a model", async (_, bytes, code) => {
  const file = join(folder, "given");
  rmSync(file, { force: true });
  if (bytes) writeFileSync(file, bytes);
  for (const args of [
    ["predict", file, folder],
    ["eval", file, "--data", folder],
    ["embed", file, "--data", folder],
    ["export", file, "--out", join(folder, "out.onnx")],
  ]) {
    if (args[0] === "predict") writeFileSync(join(folder, "a.png"), "");
    expect(await main(args)).toBe(code);
    expect(printed.stderr).toContain(file);
    expect(printed.stderr).not.toContain("    at "); // no stack
  }
});

test("a file with changed bytes loads or is refused, and never ends the process", async () => {
  writeMadeModel(path);
  const whole = readFileSync(path);
  const header = 8 + Number(whole.readBigUInt64LE());
  const random = keyedRandom(0, "changed bytes");
  const before = liveTensors();
  let refused = 0;
  for (let trial = 0; trial < 300; trial++) {
    const bytes = Buffer.from(whole);
    for (let i = random.integer(4); i >= 0; i--) bytes[random.integer(header)] = random.integer(256);
    writeFileSync(path, trial % 10 === 0 ? bytes.subarray(0, random.integer(bytes.length)) : bytes);
    try {
      (await loadModel(path)).dispose();
    } catch (error) {
      expect(error).toBeInstanceOf(DataError);
      refused++;
    }
  }
  expect(refused).toBeGreaterThan(150);
  expect(liveTensors()).toBe(before);
});

test("weights without our metadata, and metadata that is not JSON, are distinguished from models", () => {
  const header = (metadata: object): Buffer => {
    const json = Buffer.from(JSON.stringify({ __metadata__: metadata }));
    const size = Buffer.alloc(8);
    size.writeBigUInt64LE(BigInt(json.length));
    return Buffer.concat([size, json]);
  };
  for (const [metadata, words] of [
    [{ licence: "MIT" }, "contains weights but no metadata"],
    [{ nudge: "{" }, "not a model"],
    [{ nudge: "[1]" }, 'expected "nudge" to be an object'],
    [{ nudge: "[".repeat(100_000) }, "not a model"],
    [{ nudge: '{"__proto__":{"format":2}}' }, "nudge.format"],
  ] as const) {
    writeFileSync(path, header(metadata));
    expect(() => readModelAbout(path)).toThrow(DataError);
    expect(() => readModelAbout(path)).toThrow(words);
  }
});

test("names in a model file cannot inject anything into printed or written text", async () => {
  const evil = ["\u001b[2J<script>alert(1)</script>", "=cmd|' /C calc'!A0", "# [x](http://evil) | `rm`\n## y"];
  writeMadeModel(path, { classes: evil, domains: ["<img src=x onerror=alert(1)>", "b\n\nc"] });
  const data = join(folder, "pictures");
  await makePictureFolder(data, { perCell: 1 });
  expect(await main(["predict", path, data])).toBe(0);
  expect(printed.stdout).not.toContain("\u001b");
  printed.stdout = "";
  expect(await main(["predict", path, data, "--format", "csv"])).toBe(0);
  for (const line of printed.stdout.split("\r\n").slice(1)) expect(line).not.toMatch(/(^|,)"?[=@]/);
  expect(await main(["export", path, "--out", join(folder, "evil.onnx")])).toBe(0);
  const card = readFileSync(join(folder, "evil.onnx.md"), "utf8");
  expect(card).not.toMatch(/^## y/m);
  expect(card).not.toContain("<script>");
  expect(card).not.toMatch(/[^\\]\]\(http/); // a link's bracket is escaped
  expect(card).not.toContain("\u001b");
});
