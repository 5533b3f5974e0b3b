import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { makeScenes, writeAltered } from "../../tests/support/scenes.js";
import { openDataset } from "../data/open-dataset.js";
import { splitOf } from "../data/own-split.js";
import { splitHash } from "../data/split.js";
import { recordedRequest } from "./preprocessing.js";
import { resolve } from "./resolve.js";

const root = mkdtempSync(join(tmpdir(), "nudge-near-duplicates-"));
const request = { data: root, backbone: "small-cnn", testDomains: "street" };
const options = { trialSeed: 0, testDomains: ["street"], holdout: 0.2 };

beforeAll(async () => {
  await makeScenes(root, { perCell: 10, domains: ["shop", "street"], classes: ["mug", "pen"] });
  for (const name of ["shop/mug/0", "shop/mug/5", "shop/pen/3"]) await writeAltered(join(root, `${name}.png`));
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

test("a run on own pictures keeps near-duplicates together, records it, and can be repeated", async () => {
  const { settings, split } = await resolve(request);
  expect(settings.nearDuplicates).toBe("together");
  expect(settings.splitHash).toBe(splitHash(split));
  expect(settings.request.nearDuplicates).toBe("together");
  expect(settings.fixed).not.toHaveProperty("nearDuplicates");
  const again = await resolve(recordedRequest(settings.request));
  expect(again.settings).toEqual(settings);
  expect(again.split).toEqual(split);
});

test("a run from before keeps its split and its name", async () => {
  const { settings } = await resolve({ ...request, nearDuplicates: "ignore" });
  expect(settings).not.toHaveProperty("nearDuplicates");
  expect(settings.request).not.toHaveProperty("nearDuplicates"); // as an earlier version recorded it
  const again = await resolve(recordedRequest(settings.request));
  expect(again.settings.hash).toBe(settings.hash);
  expect(again.split).toEqual(splitOf(await openDataset(root), options));
  const now = await resolve(request);
  expect(now.settings.splitHash).not.toBe(settings.splitHash);
  expect(now.settings.hash).not.toBe(settings.hash);
});

test("benchmarks have no such setting", async () => {
  const { settings } = await resolve({ data: "shapes", testDomains: "filled" });
  expect(settings).not.toHaveProperty("nearDuplicates");
});
