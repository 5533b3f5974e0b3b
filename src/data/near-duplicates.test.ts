import { cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import sharp from "sharp";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { makeScenes, scene, writeAltered } from "../../tests/support/scenes.js";
import type { PictureDataset } from "./dataset.js";
import { inspectDataset } from "./inspect.js";
import { inspectionText } from "./inspect-text.js";
import { nearDuplicatesOf } from "./near-duplicates.js";
import { openDataset } from "./open-dataset.js";
import { splitByClass, splitOf } from "./own-split.js";
import { CELLS, signatureOf } from "./picture-signature.js";
import { signaturesOf } from "./picture-signatures.js";
import { splitDataset } from "./split.js";

const root = mkdtempSync(join(tmpdir(), "nudge-near-duplicates-"));
const options = { trialSeed: 0, testDomains: [], holdout: 0.25 };
const originals = ["shop/mug/0", "shop/mug/5", "shop/pen/3", "street/mug/7", "street/pen/1", "street/pen/11"];

beforeAll(async () => {
  await makeScenes(root, { perCell: 16, domains: ["shop", "street"], classes: ["mug", "pen"] });
  for (const name of originals) await writeAltered(join(root, `${name}.png`));
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

const open = async (): Promise<PictureDataset> => (await openDataset(root)) as PictureDataset;
const grouped = async (): Promise<PictureDataset> => {
  const dataset = await open();
  return { ...dataset, nearDuplicates: await nearDuplicatesOf(dataset) };
};
const parts = (dataset: PictureDataset, trialSeed: number): Map<string, "in" | "out"> => {
  const split = splitOf(dataset, { ...options, trialSeed });
  return new Map(
    dataset.domains.flatMap(({ name, files }) =>
      (["in", "out"] as const).flatMap((part) => split.get(name)![part].map((i) => [files[i], part] as const)),
    ),
  );
};
/** The originals whose copies are on both sides. */
const divided = (of: Map<string, "in" | "out">): string[] =>
  originals.filter((name) => {
    const sides = [...of].filter(([file]) => file === `${name}.png` || file.startsWith(`${name}-`));
    expect(sides.length).toBe(4);
    return new Set(sides.map(([, side]) => side)).size > 1;
  });

test("copies that were resized, compressed again or cropped are groups, and nothing else is", async () => {
  const groups = await nearDuplicatesOf(await open());
  const expected = originals.map((name) =>
    [`${name}-compressed.jpg`, `${name}-cropped.jpg`, `${name}-smaller.jpg`, `${name}.png`].toSorted(),
  );
  expect(groups.map((group) => group.toSorted())).toEqual(expected);
});

test("no group is divided, in any trial; without groups some are", async () => {
  const [plain, together] = [await open(), await grouped()];
  const trials = Array.from({ length: 12 }, (_, trial) => trial);
  expect(trials.flatMap((trial) => divided(parts(together, trial)))).toEqual([]);
  expect(trials.flatMap((trial) => divided(parts(plain, trial))).length).toBeGreaterThan(0);
  // Groups are in both parts, and the fraction stays near the requested one.
  const sides = trials.flatMap((trial) => originals.map((name) => parts(together, trial).get(`${name}.png`)));
  expect(new Set(sides)).toEqual(new Set(["in", "out"]));
  for (const trial of trials) {
    const of = [...parts(together, trial).values()];
    const share = of.filter((side) => side === "out").length / of.length;
    expect(Math.abs(share - options.holdout)).toBeLessThan(0.05);
  }
});

test("the split is the same on every call, and when signatures come from the cache", async () => {
  const first = splitOf(await grouped(), options);
  expect(splitOf(await grouped(), options)).toEqual(first);
});

test("signatures are computed once, and a cache that cannot be written is not an error", async () => {
  const before = process.env.XDG_CACHE_HOME;
  const cache = mkdtempSync(join(tmpdir(), "nudge-signatures-"));
  const computed = async (): Promise<number> => {
    let count = 0;
    const dataset = await open();
    const files = dataset.domains.flatMap((domain) => domain.files);
    const signatures = await signaturesOf(dataset, files, { progress: (done) => (count = done) });
    expect([...signatures.keys()].toSorted()).toEqual(files.toSorted());
    return count;
  };
  try {
    process.env.XDG_CACHE_HOME = cache;
    expect(await computed()).toBeGreaterThan(0);
    expect(await computed()).toBe(0);
    writeFileSync(join(cache, "file"), "");
    process.env.XDG_CACHE_HOME = join(cache, "file"); // no folder can be made below a file
    expect(await computed()).toBeGreaterThan(0);
  } finally {
    if (before === undefined) delete process.env.XDG_CACHE_HOME;
    else process.env.XDG_CACHE_HOME = before;
    rmSync(cache, { recursive: true });
  }
});

test("a stop keeps the signatures that were computed, and the time of many is announced", async () => {
  const before = process.env.XDG_CACHE_HOME;
  const cache = mkdtempSync(join(tmpdir(), "nudge-signatures-"));
  try {
    process.env.XDG_CACHE_HOME = cache;
    const dataset = await open();
    const files = dataset.domains.flatMap((domain) => domain.files);
    let done = 0;
    const stopped = nearDuplicatesOf(dataset, { progress: (count) => (done = count), shouldStop: () => done >= 16 });
    await expect(stopped).rejects.toThrow(/stopped after comparing (1[6-9]|2\d) of 82 pictures/);
    const progress: [number, number][] = [];
    const announced: number[] = [];
    const clock = vi.spyOn(performance, "now").mockImplementation(() => 20_000 * progress.length); // slow pictures
    await signaturesOf(dataset, files, {
      progress: (...counts) => progress.push(counts),
      announce: (seconds, total) => announced.push(seconds, total),
    });
    clock.mockRestore();
    const [[, total]] = progress;
    expect(total).toBeLessThanOrEqual(files.length - 16);
    expect(total).toBeGreaterThan(files.length - 30);
    expect(announced).toEqual([(20 / 32) * (total - 32), total]); // after 32 pictures, of which 16 had been reported
  } finally {
    if (before === undefined) delete process.env.XDG_CACHE_HOME;
    else process.env.XDG_CACHE_HOME = before;
    rmSync(cache, { recursive: true });
  }
});

test("pictures without near-duplicates are split as before", async () => {
  const dataset = await open();
  expect(splitByClass({ ...dataset, nearDuplicates: [] }, options)).toEqual(splitByClass(dataset, options));
});

test("benchmarks keep the reference's split", async () => {
  const dataset = { ...(await grouped()), id: "pacs" };
  expect(splitOf(dataset, options)).toEqual(splitDataset(dataset.domains, options));
});

test("a class of near-duplicates is not one group: some of it can be used for validation", async () => {
  const folder = mkdtempSync(join(tmpdir(), "nudge-frames-"));
  try {
    await makeScenes(folder, { perCell: 3, domains: ["all"], classes: ["mug", "pen"] });
    for (let i = 0; i < 40; i++)
      await scene(900)
        .modulate({ brightness: 1 - i / 400 })
        .png()
        .toFile(join(folder, `all/mug/frame${i}.png`));
    const dataset = (await openDataset(folder)) as PictureDataset;
    const nearDuplicates = await nearDuplicatesOf(dataset);
    expect(Math.max(...nearDuplicates.map(({ length }) => length))).toBe(8);
    const { domains } = dataset;
    const { out } = splitOf({ ...dataset, nearDuplicates }, options).get(domains[0].name)!;
    expect(out.filter((i) => domains[0].files[i].includes("frame")).length).toBeGreaterThan(0);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test("inspection reports near-duplicates, and exact copies only as such", async () => {
  const text = inspectionText(await inspectDataset(await open()));
  expect(text).toContain("24 pictures are near-duplicates of others in the same class, in 6 groups");
  const copy = join(root, "shop/mug/9-copy.png");
  cpSync(join(root, "shop/mug/9.png"), copy);
  try {
    const inspection = await inspectDataset(await open());
    expect(inspection.duplicates!.withinClass.length).toBe(1);
    expect(inspection.nearDuplicates!.length).toBe(6);
  } finally {
    rmSync(copy);
  }
});

test("a signature is the means of the cells in gray levels, also of a picture smaller than the cells", async () => {
  const [width, height] = [32, 48];
  const pixels = new Uint8Array(width * height * 3);
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++)
      pixels.fill(Math.floor(x / 2) + 10 * Math.floor(y / 3), 3 * (y * width + x), 3 * (y * width + x) + 3);
  const cells = [...signatureOf({ width, height, pixels }).subarray(0, CELLS)];
  expect(cells).toEqual(Array.from({ length: CELLS }, (_, i) => 256 * ((i % 16) + 10 * Math.floor(i / 16))));
  const small = signatureOf({ width: 2, height: 1, pixels: Uint8Array.of(10, 10, 10, 200, 200, 200) });
  expect([small[0], small[7], small[8], small[15], small[255]]).toEqual([10, 10, 200, 200, 200].map((v) => 256 * v));
});

test("a uniform picture is no near-duplicate of another", async () => {
  const folder = mkdtempSync(join(tmpdir(), "nudge-uniform-"));
  try {
    await makeScenes(folder, { perCell: 2, domains: ["all"], classes: ["mug", "pen"] });
    for (const [i, background] of ["#fff", "#fefefe", "#000"].entries())
      await sharp({ create: { width: 64, height: 64, channels: 3, background } })
        .png()
        .toFile(join(folder, `all/mug/plain${i}.png`));
    expect(await nearDuplicatesOf((await openDataset(folder)) as PictureDataset)).toEqual([]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
