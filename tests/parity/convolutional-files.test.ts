/**
 * Files of EfficientNet, RegNetY and ConvNeXt under torchvision's, timm's, Meta's and Hugging Face's names, which PyTorch writes here
 * and now with random weights: they are recognised, load, and give torchvision's features. Files of another network are refused.
 */

import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { backboneNamed, loadPretrained } from "../../src/backbones/index.js";
import { weightsFacts } from "../../src/backbones/weights-facts.js";
import { scope } from "../../src/engine/scope.js";
import { noGrad } from "../../src/engine/tensor.js";
import { readWeights } from "../../src/engine/weights.js";
import { resolve } from "../../src/settings/resolve.js";
import { expectClose } from "../support/close.js";
import { formulaTensor } from "../support/formula-weights.js";

const SCRIPT = fileURLToPath(new URL("../vectors/convolutional_files.py", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "nudge-convolutional-"));
const SKIPPED = "skipped: no python3 here can import torchvision";

const python = ["/usr/bin/python3", "python3"].find(
  (command) => spawnSync(command, ["-c", "import torchvision"]).status === 0,
);

beforeAll(() => {
  if (python === undefined) return;
  const { status, stderr } = spawnSync(python, [SCRIPT, folder], { encoding: "utf8" });
  if (status !== 0) throw new Error(`${python} ${SCRIPT} failed:\n${stderr}`);
}, 120_000);
afterAll(() => rmSync(folder, { recursive: true }));

const efficientnet = "an EfficientNet of 1280 features and 16 blocks, under";
const regnet = "a RegNet of 440 features and 16 blocks, under";
const convnext = "a ConvNeXt of 768 features and 18 blocks, under";

test.for([
  ["efficientnet-torchvision.pth", "efficientnet_b0", `${efficientnet} torchvision's names`],
  ["efficientnet-timm.safetensors", "efficientnet_b0", `${efficientnet} timm's names`],
  ["regnet-torchvision.pth", "regnet_y_400mf", `${regnet} torchvision's names`],
  ["regnet-timm.safetensors", "regnet_y_400mf", `${regnet} timm's names`],
  ["regnet-hugging-face.safetensors", "regnet_y_400mf", `${regnet} Hugging Face's names`],
  ["convnext-torchvision.pth", "convnext_tiny", `${convnext} torchvision's names`],
  ["convnext-timm.pth", "convnext_tiny", `${convnext} timm's names`],
  ["convnext-meta.pth", "convnext_tiny", `${convnext} Meta's names`],
  ["convnext-hugging-face.pth", "convnext_tiny", `${convnext} Hugging Face's names`],
])("%s is recognized, and gives torchvision's features", ([file, id, description], { skip }) => {
  skip(python === undefined, SKIPPED);
  const path = join(folder, file);
  expect(weightsFacts(path)).toMatchObject({ backbone: id, description, normalization: "imagenet" });
  scope(() => {
    using backbone = loadPretrained(backboneNamed(id).build(), path);
    const features = noGrad(() => backbone.forward(formulaTensor("x", [2, 3, 64, 64])));
    const expected = readWeights(join(folder, "outputs.safetensors")).get(file.split("-")[0])!;
    const size = expected.abs().max().item();
    expect(expected.select(0, 0).sub(expected.select(0, 1)).abs().max().item() / size).toBeGreaterThan(1e-3);
    expectClose(features, expected, { rtol: 0, atol: 1e-5 * size });
  });
});

test("a file of another network is refused with one error, and a damaged one with its problem", async ({ skip }) => {
  skip(python === undefined, SKIPPED);
  const path = join(folder, "efficientnet-timm.safetensors");
  const request = { data: "shapes", testDomains: "filled", weights: path };
  await expect(resolve({ ...request, backbone: "efficientnet_b1" })).rejects.toThrow(
    `the weights in ${path} belong to efficientnet_b0, but the backbone is efficientnet_b1; use --backbone efficientnet_b0`,
  );
  await expect(resolve({ ...request, backbone: "resnet50" })).rejects.toThrow("belong to efficientnet_b0");
  using other = backboneNamed("regnet_y_800mf").build();
  const before = other.stateDict().get("stem.0.weight")!.toNumbers();
  const wrong = () => loadPretrained(other, join(folder, "regnet-timm.safetensors"));
  expect(wrong).toThrow("into RegNet: missing trunk_output.block3.block3-6.f.a.0.weight");
  expect(wrong).toThrow(
    "wrong shape of trunk_output.block1.block1-0.proj.0.weight: expected [64, 32, 1, 1], got [48, 32, 1, 1]",
  );
  expect(other.stateDict().get("stem.0.weight")!.toNumbers()).toEqual(before);
  const torn = join(folder, "torn.safetensors");
  writeFileSync(torn, readFileSync(path));
  truncateSync(torn, 1_000_000);
  using whole = backboneNamed("efficientnet_b0").build();
  expect(() => loadPretrained(whole, torn)).toThrow(torn);
});
