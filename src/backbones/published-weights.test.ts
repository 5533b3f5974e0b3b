import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { trainedBackbones } from "./backbone-of-weights.js";
import { backboneNamed } from "./index.js";
import {
  fileOf,
  framingOf,
  type PublishedFraming,
  type PublishedWeights,
  publishedWeights,
  publishedWeightsNamed,
  weightsThroughNpm,
} from "./published-weights.js";

/** What torchvision's own presets say (tests/vectors/torchvision_preprocessing.py). */
const presets: Record<string, PublishedFraming> = JSON.parse(
  readFileSync(new URL("../../tests/vectors/torchvision-preprocessing.json", import.meta.url), "utf8"),
);

const keyOf = ({ backbone, title }: PublishedWeights): string => `${backbone} ${title}`;

test("weights of torchvision are prepared for as its presets do", () => {
  const ours = publishedWeights().filter(({ title }) => title.startsWith("torchvision "));
  expect(Object.keys(presets).sort()).toEqual(ours.map(keyOf).sort());
  for (const weights of ours) expect(framingOf(weights), weights.name).toEqual(presets[keyOf(weights)]);
});

test("no two files have one name", () => {
  const files = publishedWeights().map(fileOf);
  expect(new Set(files).size).toBe(files.length);
});

test("every entry is for an existing backbone, with a unique name and an HTTPS address", () => {
  const names = publishedWeights().map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
  for (const weights of publishedWeights()) {
    expect(backboneNamed(weights.backbone).weights).toBeDefined();
    expect(weights.name === weights.backbone || weights.name.startsWith(`${weights.backbone}.`)).toBe(true);
    if (weights.url !== undefined) expect(weights.url).toMatch(/^https:\/\//);
    else expect(weights.npm).toBeDefined();
  }
});

test("weights that come through npm are pinned to the bytes of the package and of the converted file", () => {
  expect(weightsThroughNpm().map(({ name }) => name)).toEqual(["resnet50_v1"]);
  for (const { npm, sha256 } of weightsThroughNpm()) {
    expect(npm!.integrity).toMatch(/^sha512-[\w+/]{86}==$/);
    expect(npm!.version).toMatch(/^\d+\.\d+\.\d+$/);
    expect(npm!.model).toMatch(/\/$/);
    expect(sha256).toHaveLength(64);
  }
});

test("a hash that a file's name carries is the one that is checked", () => {
  for (const { sha256, ...weights } of publishedWeights()) {
    if (weights.url === undefined) continue;
    // OpenAI has the whole hash in the URL. Meta and Hugging Face publish none.
    const where = sha256?.length === 64 ? weights.url : fileOf(weights);
    if (sha256 !== undefined) expect(where).toContain(sha256.length === 64 ? `/${sha256}/` : `-${sha256.slice(0, 8)}.`);
    else expect(weights.url).toMatch(/^https:\/\/(dl\.fbaipublicfiles\.com|huggingface\.co)\//);
  }
});

test("every backbone that is recognised by its tensors has published weights of its name", () => {
  for (const id of trainedBackbones) expect(publishedWeightsNamed(id)?.backbone).toBe(id);
});
