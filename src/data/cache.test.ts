import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import {
  closeSync,
  cpSync,
  existsSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import sharp from "sharp";
import { afterAll, beforeEach, expect, test } from "vitest";
import { runChild } from "../../tests/support/child.js";
import { makePictureFolder, pixelsOf } from "../../tests/support/made-pictures.js";
import { scope } from "../engine/scope.js";
import { tensor } from "../engine/tensor.js";
import { StoppedError } from "../errors.js";
import { isStored } from "../files/content-store.js";
import { FolderLock } from "../files/folder-lock.js";
import { augmentOnHost, drawLength, plainDraw } from "./augment.js";
import { buildCache, type CachePlan } from "./cache.js";
import type { PictureDataset } from "./dataset.js";
import { openPictureBlocks } from "./picture-blocks.js";
import { type FoundPicture, openPictures } from "./picture-store.js";

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
  using store = openPictureBlocks(dataset, { folder, shortSide: 256 });
  for (const [number, path] of dataset.domains.flatMap(({ files }) => files).entries()) {
    if (except.includes(path)) continue;
    const entry = store.entries.get(path);
    if (!isStored(entry)) throw new Error(`${path} is not in the cache`);
    const bytes = store.read(entry);
    expect(bytes && Buffer.from(bytes).equals(pixelsOf(number, entry.width, entry.height)), path).toBe(true);
  }
}

const pixelFiles = (): string[] => readdirSync(folder).filter((name) => name.endsWith(".bin"));
const indexFile = (): string => {
  const name = existsSync(folder) ? readdirSync(folder).find((each) => /^index-.*\.jsonl$/.test(each)) : undefined;
  return join(folder, name ?? "none");
};

test("a cache holds the pixels of every picture, has the predicted size, and is made once", async () => {
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

test("a complete cache is used without waiting for its lock", async () => {
  const dataset = await makePictureFolder(root, { perCell: 1 });
  await buildCache(dataset, { folder });
  const [lock] = /(?<=index-)\w+/.exec(indexFile())!;
  using _ = await FolderLock.take(join(folder, `lock-${lock}`));
  expect((await buildCache(dataset, { folder })).added).toBe(0);
});

test("a picture with a new modification time is recognised by its content", async () => {
  const dataset = await makePictureFolder(root, { perCell: 3 });
  await buildCache(dataset, { folder });
  utimesSync(join(root, dataset.domains[0].files[1]), 1, 1);
  expect(await buildCache(dataset, { folder })).toMatchObject({ added: 0, known: 1, unused: 0 });
  expect(await buildCache(dataset, { folder })).toMatchObject({ added: 0, known: 0 });
  expectPixels(dataset);
});

test("copies of pictures and links to them, in the folder and in another one, are not decoded again", async () => {
  const dataset = await makePictureFolder(root, { perCell: 3 });
  expect(await buildCache(dataset, { folder })).toMatchObject({ added: 12, known: 0 });
  const copied = `${root}-copied`;
  cpSync(root, copied, { recursive: true });
  rmSync(join(copied, dataset.domains[0].files[0]));
  symlinkSync(join(root, dataset.domains[0].files[0]), join(copied, dataset.domains[0].files[0]));
  expect(await buildCache({ ...dataset, root: copied }, { folder })).toMatchObject({ added: 0, known: 12 });
  expectPixels({ ...dataset, root: copied });
  expect(pixelFiles()).toHaveLength(1);
});

test("pixels that were replaced by noise are noticed, and the picture is decoded again, from memory and from files", async () => {
  const dataset = await makePictureFolder(root, { perCell: 3 });
  await buildCache(dataset, { folder });
  const spoil = (): void => {
    const fd = openSync(join(folder, pixelFiles()[0]), "r+");
    writeSync(fd, randomBytes(40 * 32 * 3), 0, 40 * 32 * 3, 2 * 40 * 32 * 3);
    closeSync(fd);
  };
  for (const memoryLimit of [0, 1e9]) {
    spoil();
    using pictures = await openPictures(dataset, { cache: folder, memoryLimit });
    expect(pictures.kind).toBe(memoryLimit === 0 ? "file" : "memory");
    const places = [0, 1, 2].map((index) => ({ domain: 0, index }));
    const found = await Promise.all(pictures.find(places));
    scope(() => {
      const draws = new Float32Array(3 * drawLength);
      for (let i = 0; i < 3; i++) plainDraw(40, 32, draws.subarray(i * drawLength));
      const block = pictures.block(found as FoundPicture[]);
      const expected = {
        source: tensor(Buffer.concat(places.map(({ index }) => pixelsOf(index, 40, 32)))),
        offsets: Float64Array.of(0, 40 * 32 * 3, 2 * 40 * 32 * 3),
        sizes: block.sizes,
      };
      expect(augmentOnHost(block, draws, { size: 32 }).toNumbers()).toEqual(
        augmentOnHost(expected, draws, { size: 32 }).toNumbers(),
      );
      if (block.owned) block.source?.dispose();
    });
  }
  expectPixels(dataset);
});

test("a picture that has changed is decoded again, and only that one; fresh gives back the room", async () => {
  const dataset = await makePictureFolder(root, { perCell: 3 });
  const changed = join(root, dataset.domains[0].files[1]);
  const right = readFileSync(changed);
  writeFileSync(
    changed,
    await sharp(pixelsOf(99, 40, 32), { raw: { width: 40, height: 32, channels: 3 } })
      .png()
      .toBuffer(),
  );
  await buildCache(dataset, { folder });
  writeFileSync(changed, right);
  const second = await buildCache(dataset, { folder });
  expect(second).toMatchObject({ added: 1, known: 0, unused: 40 * 32 * 3 });
  expectPixels(dataset);
  const third = await buildCache(dataset, { folder, fresh: true });
  expect(third).toMatchObject({ added: 12, unused: 0 });
  expect(pixelFiles()).toHaveLength(1);
  expectPixels(dataset);
});

test("pictures that cannot be decoded are reported with their paths, and tried again when they change", async () => {
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
  expect([mended.known, mended.bad]).toEqual([1, []]); // by now it has the bytes of another
});

test("a file that disappears is reported, and the others are processed", async () => {
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
  const index = indexFile();
  const text = readFileSync(index, "utf8");
  const lastLine = text.trimEnd().lastIndexOf("\n") + 1;
  for (const at of [lastLine + 1, lastLine + 40, text.length - 1]) {
    writeFileSync(index, text);
    truncateSync(index, at);
    const report = await buildCache(dataset, { folder });
    expect(report.added + report.known).toBe(1);
    expectPixels(dataset);
    expect((await buildCache(dataset, { folder })).added).toBe(0);
  }
  truncateSync(index, 5); // within the first line: nothing is known
  expect((await buildCache(dataset, { folder })).added).toBe(8);
  expectPixels(dataset);
});

test("after a stop request, the finished part is kept, and the next process does the rest", async () => {
  const dataset = await makePictureFolder(root, { perCell: 5, size: (n) => [30 + n, 50 - n] });
  let asked = 0;
  const stopped = await buildCache(dataset, { folder, shouldStop: () => ++asked === 7 }).catch((error) => error);
  expect(stopped).toBeInstanceOf(StoppedError);
  expect(stopped.message).toBe("stopped after 7 of 20 pictures to decode, which are kept");
  expect(await buildCache(dataset, { folder })).toMatchObject({ pictures: 20, added: 13 });
  expectPixels(dataset);
});

test("after a kill, the finished part is kept, and the next process does the rest", {
  timeout: 30_000,
}, async () => {
  // 400 kB each, so that what has been decoded is put on disk several times.
  const dataset = await makePictureFolder(root, { perCell: 60, size: () => [400, 250] });
  const script = fileURLToPath(new URL("../../tests/support/build-cache.ts", import.meta.url));
  const runner = fileURLToPath(new URL("../../tests/support/run-typescript.mjs", import.meta.url));
  const child = spawn(process.execPath, [runner, script, root, folder], { stdio: "ignore" });
  const ended = new Promise((done) => child.on("close", done));
  const linesThere = () => (existsSync(indexFile()) ? readFileSync(indexFile(), "utf8").split("\n").length : 0);
  while (linesThere() < 50 && child.exitCode === null) await sleep(2);
  child.kill("SIGKILL");
  await ended;
  using store = openPictureBlocks(dataset, { folder, shortSide: 256 });
  const kept = store.entries.size;
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
  expect(readFileSync(indexFile(), "utf8").trimEnd().split("\n")).toHaveLength(121);
  expectPixels(dataset);
});

test("pictures of one's own lie in the cache as a person sees them, those as stored and of another size beside them", async () => {
  const dataset = await makePictureFolder(root, { perCell: 1, size: () => [40, 30] });
  const [path] = dataset.domains[0].files;
  const picture = sharp(join(root, path));
  writeFileSync(join(root, path), await picture.withMetadata({ orientation: 6 }).png().toBuffer());
  const sizeIn = async (given: PictureDataset, shortSide: number | null): Promise<unknown> => {
    await buildCache(given, { folder, shortSide });
    using store = openPictureBlocks(given, { folder, shortSide });
    return store.entries.get(path);
  };
  const { upright: _, ...benchmark } = dataset;
  expect(await sizeIn({ ...dataset, upright: true }, 256)).toMatchObject({ width: 30, height: 40 });
  expect(await sizeIn(benchmark, 256)).toMatchObject({ width: 40, height: 30 });
  expect(await sizeIn(benchmark, 15)).toMatchObject({ width: 20, height: 15 });
});
