import { expect, test } from "vitest";
import { trainedBackbones } from "./backbone-of-weights.js";
import { backboneNamed } from "./index.js";
import { fileOf, publishedWeights, publishedWeightsNamed } from "./published-weights.js";

test("no two files have one name", () => {
  const files = publishedWeights().map(fileOf);
  expect(new Set(files).size).toBe(files.length);
});

test("every line is of a backbone that there is, has a name of its own and an encrypted address", () => {
  const names = publishedWeights().map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
  for (const weights of publishedWeights()) {
    expect(backboneNamed(weights.backbone).weights).toBeDefined();
    expect(weights.name === weights.backbone || weights.name.startsWith(`${weights.backbone}.`)).toBe(true);
    expect(weights.url).toMatch(/^https:\/\//);
  }
});

test("a hash that a file's name carries is the one that is checked", () => {
  for (const { sha256, ...weights } of publishedWeights()) {
    // OpenAI has the whole hash in the URL. Meta and Hugging Face publish none.
    const where = sha256?.length === 64 ? weights.url : fileOf(weights);
    if (sha256 !== undefined) expect(where).toContain(sha256.length === 64 ? `/${sha256}/` : `-${sha256.slice(0, 8)}.`);
    else expect(weights.url).toMatch(/^https:\/\/(dl\.fbaipublicfiles\.com|huggingface\.co)\//);
  }
});

test("every backbone that is known by its tensors has weights of its name", () => {
  for (const id of trainedBackbones) expect(publishedWeightsNamed(id)?.backbone).toBe(id);
});
