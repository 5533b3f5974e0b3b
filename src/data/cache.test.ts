import { spawn } from "node:child_process";
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import sharp from "sharp";
import { afterAll, beforeEach, expect, test } from "vitest";
import { runChild } from "../../tests/support/child.js";
import { makePictureFolder, pixelsOf } from "../../tests/support/made-pictures.js";
import { DataError, StoppedError } from "../errors.js";
import { FolderLock } from "../files/folder-lock.js";
import { buildCache, type CachePlan } from "./cache.js";
import { type CachedPicture, isCached, pixelBytes, readIndex } from "./cache-index.js";
import { CacheWriter } from "./cache-writer.js";
import type { PictureDataset } from "./dataset.js";

const place = mkdtempSync(join(tmpdir(), "nudge-cache-"));
afterAll(() => rmSync(place, { recursive: true }));

let tests = 0;
let root: string;
let folder: string;
beforeEach(() => {
  root = join(place, `root-${++tests}`);
  folder = join(place, `cache-${tests}`);
});

/** Every picture in the cache has the pixels it was made with. */
function expectPixels(dataset: PictureDataset, except: readonly string[] = []): void {
  const { entries } = readIndex(folder) ?? { entries: new Map() };
  const contents = new Map(pixelFiles().map((name) => [name, readFileSync(join(folder, name))]));
  for (const [number, path] of dataset.domains.flatMap(({ files }) => files).entries()) {
    if (except.includes(path)) continue;
    const entry = entries.get(path);
    expect(isCached(entry), path).toBe(true);
    const { pixels, offset, width, height } = entry as CachedPicture;
    const bytes = contents.get(pixels)?.subarray(offset, offset + pixelBytes({ width, height }));
    expect(bytes?.equals(pixelsOf(number, width, height)), path).toBe(true);
  }
}

const pixelFiles = (): string[] => readdirSync(folder).filter((name) => name.endsWith(".u8"));

test("a cache holds every picture's pixels, as many bytes as were told before, and is made once", async () => {
  const dataset = await makePictureFolder(root, { perCell: 5, size: (n) => [30 + n, 50 - n] });
  const plans: CachePlan[] = [];
  const first = await buildCache(dataset, { folder, onPlan: (plan) => plans.push(plan) });
  expect(first).toMatchObject({ pictures: 20, added: 20, bad: [], truncated: [], unused: 0, shortSide: 256 });
  expect(plans).toMatchObject([{ pictures: 20, missing: 20, bytes: first.bytes }]);
  expectPixels(dataset);
  const again = await buildCache(dataset, { folder });
  expect(again).toMatchObject({ pictures: 20, added: 0, bytes: first.bytes });
  expect(pixelFiles()).toHaveLength(1);
});

test("a complete cache is used without waiting for whoever works at it", async () => {
  const dataset = await makePictureFolder(root, { perCell: 1 });
  await buildCache(dataset, { folder });
  using _ = await FolderLock.take(join(folder, "lock"));
  expect((await buildCache(dataset, { folder })).added).toBe(0);
});

test("a picture that has changed is decoded again, and only that one; fresh gives back the room", async () => {
  const dataset = await makePictureFolder(root, { perCell: 3 });
  await buildCache(dataset, { folder });
  const changed = dataset.domains[0].files[1];
  utimesSync(join(root, changed), 1, 1);
  const second = await buildCache(dataset, { folder });
  expect(second).toMatchObject({ added: 1, unused: 40 * 32 * 3 });
  expectPixels(dataset);
  const third = await buildCache(dataset, { folder, fresh: true });
  expect(third).toMatchObject({ added: 12, unused: 0 });
  expect(pixelFiles()).toHaveLength(1);
  expectPixels(dataset);
});

test("pictures that cannot be decoded are told of with their paths, and tried again when they change", async () => {
  const dataset = await makePictureFolder(root, { perCell: 3 });
  const [empty, cut, whole] = dataset.domains[1].files;
  const bytes = readFileSync(join(root, whole));
  writeFileSync(join(root, empty), "");
  writeFileSync(join(root, cut), bytes.subarray(0, Math.floor(bytes.length / 2)));
  const first = await buildCache(dataset, { folder });
  expect(first.bad).toMatchObject([
    { path: empty, problem: expect.stringContaining(`${empty}: could not be decoded: empty`) },
  ]);
  expect(first.truncated).toEqual([cut]);
  expectPixels(dataset, [empty, cut]);
  expect((await buildCache(dataset, { folder })).added).toBe(0);
  writeFileSync(join(root, empty), bytes);
  const mended = await buildCache(dataset, { folder });
  expect([mended.added, mended.bad]).toEqual([1, []]);
});

test("a file that vanishes is told of, and the rest goes on", async () => {
  const dataset = await makePictureFolder(root, { perCell: 2 });
  const [lost] = dataset.domains[0].files;
  rmSync(join(root, lost));
  const report = await buildCache(dataset, { folder });
  expect(report.bad).toMatchObject([{ path: lost, problem: expect.stringContaining("ENOENT") }]);
  expectPixels(dataset, [lost]);
});

test("an index torn in its last line, at any place, loses that line and nothing else", async () => {
  const dataset = await makePictureFolder(root, { perCell: 2 });
  await buildCache(dataset, { folder });
  const index = join(folder, "index.jsonl");
  const text = readFileSync(index, "utf8");
  const lastLine = text.trimEnd().lastIndexOf("\n") + 1;
  for (const at of [lastLine + 1, lastLine + 40, text.length - 1]) {
    writeFileSync(index, text);
    truncateSync(index, at);
    const report = await buildCache(dataset, { folder });
    expect(report.added).toBe(1);
    expectPixels(dataset);
    expect((await buildCache(dataset, { folder })).added).toBe(0);
  }
  truncateSync(index, 5); // within the first line: nothing is known
  expect((await buildCache(dataset, { folder })).added).toBe(8);
  expectPixels(dataset);
});

test("told to stop, it keeps what it had done, and the next one does the rest", async () => {
  const dataset = await makePictureFolder(root, { perCell: 5, size: (n) => [30 + n, 50 - n] });
  let asked = 0;
  const stopped = await buildCache(dataset, { folder, shouldStop: () => ++asked === 7 }).catch((error) => error);
  expect(stopped).toBeInstanceOf(StoppedError);
  expect(stopped.message).toBe("stopped after 7 of 20 pictures to decode, which are kept");
  expect(await buildCache(dataset, { folder })).toMatchObject({ pictures: 20, added: 13 });
  expectPixels(dataset);
});

test("a process killed in the midst leaves what it had done, and the next one does the rest", {
  timeout: 30_000,
}, async () => {
  // 400 kB each, so that what has been decoded is put on disk several times.
  const dataset = await makePictureFolder(root, { perCell: 60, size: () => [400, 250] });
  const script = fileURLToPath(new URL("../../tests/support/build-cache.ts", import.meta.url));
  const runner = fileURLToPath(new URL("../../tests/support/run-typescript.mjs", import.meta.url));
  const child = spawn(process.execPath, [runner, script, root, folder], { stdio: "ignore" });
  const ended = new Promise((done) => child.on("close", done));
  const linesThere = () =>
    existsSync(join(folder, "index.jsonl")) ? readFileSync(join(folder, "index.jsonl"), "utf8").split("\n").length : 0;
  while (linesThere() < 50 && child.exitCode === null) await sleep(2);
  child.kill("SIGKILL");
  await ended;
  const kept = readIndex(folder)?.entries.size ?? 0;
  expect(kept).toBeGreaterThan(40);
  const report = await buildCache(dataset, { folder });
  expect(report).toMatchObject({ pictures: 240, added: 240 - kept, bad: [] });
  expectPixels(dataset);
});

test("two processes at once make one cache, each picture in it once", { timeout: 30_000 }, async () => {
  const dataset = await makePictureFolder(root, { perCell: 30 });
  const script = new URL("../../tests/support/build-cache.ts", import.meta.url);
  const ends = await Promise.all([1, 2].map(() => runChild(script, { args: [root, folder], timeout: 25_000 })));
  expect(ends.map(({ code, stderr }) => [code, stderr])).toEqual([
    [0, ""],
    [0, ""],
  ]);
  expect(ends.map(({ stdout }) => JSON.parse(stdout).added).sort()).toEqual([0, 120]);
  expect(readFileSync(join(folder, "index.jsonl"), "utf8").trimEnd().split("\n")).toHaveLength(121);
  expectPixels(dataset);
});

test("a full disk is said in words, what is there stays, and the next run goes on", async () => {
  const dataset = await makePictureFolder(root, { perCell: 2 });
  mkdirSync(folder);
  const picture = { width: 40, height: 32, pixels: pixelsOf(0, 40, 32), truncated: false };
  const settings = { root, shortSide: 256 };
  const [path] = dataset.domains[0].files;
  {
    using lock = await FolderLock.take(join(folder, "lock"));
    let room = 6000;
    using writer = new CacheWriter(folder, settings, lock, undefined, (fd, bytes) => {
      appendFileSync(fd, bytes.subarray(0, room));
      if (bytes.length > room) throw Object.assign(new Error("write"), { code: "ENOSPC" });
      room -= bytes.length;
    });
    writer.add(path, { bytes: 1, mtime: 1 }, picture);
    writer.flush();
    writer.add("a/x/001.png", { bytes: 1, mtime: 1 }, picture);
    expect(() => writer.flush()).toThrow(DataError);
    writer.add("a/x/001.png", { bytes: 1, mtime: 1 }, picture);
    expect(() => writer.flush()).toThrow(/could not be written: the disk is full.*--out/);
  }
  expect([...(readIndex(folder)?.entries.keys() ?? [])]).toEqual([path]);
  expect((await buildCache(dataset, { folder })).added).toBe(8); // all: the stamp above was made up
  expectPixels(dataset);
});

test("a writer whose lock another has taken stops", async () => {
  mkdirSync(folder);
  using lock = await FolderLock.take(join(folder, "lock"));
  using writer = new CacheWriter(folder, { root, shortSide: 256 }, lock, undefined);
  rmSync(join(folder, "lock"), { recursive: true });
  writer.addBad("a.png", { bytes: 1, mtime: 1 }, "bad");
  expect(() => writer.flush()).toThrow("another process took it over");
});

test("a cache of other pictures, of another size, or no cache at all is not taken for one", async () => {
  const dataset = await makePictureFolder(root, { perCell: 1 });
  await buildCache(dataset, { folder });
  await expect(buildCache(dataset, { folder, shortSide: null })).rejects.toThrow(
    /in full size; it is of .*short side 256/,
  );
  await expect(buildCache({ ...dataset, root: place }, { folder })).rejects.toThrow("name another folder");
  writeFileSync(join(folder, "index.jsonl"), '{"format":"other"}\n');
  await expect(buildCache(dataset, { folder })).rejects.toThrow("expected the index of a picture cache");
});

test("pictures of one's own lie in the cache as a person sees them, and a cache of the pixels as stored is another", async () => {
  const dataset = await makePictureFolder(root, { perCell: 1, size: () => [40, 30] });
  const [path] = dataset.domains[0].files;
  const picture = sharp(join(root, path));
  writeFileSync(join(root, path), await picture.withMetadata({ orientation: 6 }).png().toBuffer());
  const sizeIn = (where: string) => readIndex(where)?.entries.get(path);
  await buildCache({ ...dataset, upright: true }, { folder });
  expect(sizeIn(folder)).toMatchObject({ width: 30, height: 40 });
  const { upright: _, ...benchmark } = dataset;
  await expect(buildCache(benchmark, { folder })).rejects.toThrow(/short side 256; it is of .*, turned upright: name/);
  await buildCache(benchmark, { folder: `${folder}-stored` });
  expect(sizeIn(`${folder}-stored`)).toMatchObject({ width: 40, height: 30 });
});
