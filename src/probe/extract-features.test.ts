import { randomBytes } from "node:crypto";
import { closeSync, cpSync, openSync, readdirSync, readFileSync, rmSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import sharp from "sharp";
import { expect, test } from "vitest";
import { makePictureFolder } from "../../tests/support/made-pictures.js";
import { temporaryFolder } from "../../tests/support/picture-folder.js";
import { augmentOnHost, drawLength, plainDraw } from "../data/augment.js";
import { buildCache } from "../data/cache.js";
import type { PictureDataset } from "../data/dataset.js";
import { decodeFile } from "../data/decode.js";
import { liveTensors } from "../engine/device.js";
import { cat } from "../engine/ops.generated.js";
import { scope } from "../engine/scope.js";
import { type Tensor, tensor } from "../engine/tensor.js";
import { type ExtractOptions, extractFeatures } from "./extract-features.js";
import { problemOf } from "./feature-cache.js";

/** Two features, which anybody can compute again: the mean of the picture's numbers and of its first row of red. */
function twoMeans(x: Tensor): Tensor {
  const pixels = x.to({ memoryFormat: "contiguous" }).flatten(1);
  return cat([pixels.mean([1], true), pixels.narrow(1, 0, 224).mean([1], true)], 1);
}

async function dataset(): Promise<{ pictures: PictureDataset; cache: string }> {
  const folder = temporaryFolder();
  const pictures = await makePictureFolder(join(folder, "pictures"), { perCell: 20 });
  return { pictures, cache: join(folder, "cache") };
}

/** Extracts and counts the pictures that went through the network. */
async function extract(
  pictures: PictureDataset,
  cache: string | null,
  options: ExtractOptions = {},
  weightsHash = "w",
) {
  let seen = 0;
  const store = await extractFeatures(
    {
      dataset: pictures,
      settings: { backbone: "toy", weightsHash, seed: 0, device: "cpu", cache, inputShape: [3, 224, 224] },
      width: 2,
      forward: (x) => {
        seen += x.rows;
        return twoMeans(x);
      },
    },
    options,
  );
  return { store, seen };
}

test("features are those of the picture as evaluation sees it, each computed once and then read", async () => {
  const { pictures, cache } = await dataset();
  const before = liveTensors();
  const { store, seen } = await extract(pictures, cache);
  expect(seen).toBe(80);
  const path = pictures.domains[1].files[3];
  const { width, height, pixels } = await decodeFile(join(pictures.root, path));
  const expected = scope(() => {
    const draw = new Float32Array(drawLength);
    plainDraw(width, height, draw);
    const block = { source: tensor(pixels), offsets: Float64Array.of(0), sizes: Int32Array.of(width, height) };
    return twoMeans(augmentOnHost(block, draw, { size: 224 })).toNumbers();
  });
  const found = Array.from(store!.read(path));
  for (const [i, value] of found.entries()) expect(Math.abs(value - expected[i])).toBeLessThan(1e-6);
  store![Symbol.dispose]();
  const again = await extract(pictures, cache);
  expect(again.seen).toBe(0);
  expect(Array.from(again.store!.read(path))).toEqual(found);
  again.store![Symbol.dispose]();
  expect(liveTensors()).toBe(before);
});

test("a picture that has changed is computed again, with its chunk, and other weights have features of their own", async () => {
  const { pictures, cache } = await dataset();
  (await extract(pictures, cache)).store![Symbol.dispose]();
  const path = join(pictures.root, pictures.domains[0].files[35]);
  const [right, other] = [path, join(pictures.root, pictures.domains[0].files[0])].map((each) => readFileSync(each));
  writeFileSync(path, await sharp(right).negate({ alpha: false }).png().toBuffer());
  const changed = await extract(pictures, cache);
  expect(changed.seen).toBe(8); // places 32 to 39 of the first domain
  changed.store![Symbol.dispose]();
  writeFileSync(path, other);
  const copied = await extract(pictures, cache);
  expect(copied.seen).toBe(0);
  expect(copied.store!.read(pictures.domains[0].files[35])).toEqual(copied.store!.read(pictures.domains[0].files[0]));
  copied.store![Symbol.dispose]();
  const others = await extract(pictures, cache, {}, "other");
  expect(others.seen).toBe(80);
  others.store![Symbol.dispose]();
});

test("a picture that changes while it is read has the features of its new content", async () => {
  const { pictures, cache } = await dataset();
  const name = pictures.domains[0].files[35]; // in the second chunk
  const path = join(pictures.root, name);
  const changed = await sharp(readFileSync(path)).negate({ alpha: false }).png().toBuffer();
  let isFirst = true;
  const extractWhileItChanges = async () => {
    const settings = { backbone: "toy", weightsHash: "w", seed: 0, device: "cpu", inputShape: [3, 224, 224] };
    const store = await extractFeatures({
      ...{ dataset: pictures, settings: { ...settings, cache }, width: 2 },
      forward(x) {
        if (isFirst) {
          // Other threads have begun with the second chunk.
          Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100);
          writeFileSync(path, changed);
        }
        isFirst = false;
        return twoMeans(x);
      },
    });
    store![Symbol.dispose]();
  };
  await extractWhileItChanges();
  const again = await extract(pictures, cache);
  const calm = await extract(pictures, "false");
  expect(again.store!.read(name)).toEqual(calm.store!.read(name));
  for (const { store } of [again, calm]) store![Symbol.dispose]();
});

test("a copy of the folder needs nothing computed, and features that were spoilt are computed again", async () => {
  const { pictures, cache } = await dataset();
  (await extract(pictures, cache)).store![Symbol.dispose]();
  const copied = { ...pictures, root: `${pictures.root}-copied` };
  cpSync(pictures.root, copied.root, { recursive: true });
  const first = await extract(copied, cache);
  expect(first.seen).toBe(0);
  first.store![Symbol.dispose]();
  const blocks = readdirSync(cache).filter((name) => name.startsWith("blocks-"));
  const fd = openSync(join(cache, blocks[0]), "r+");
  writeSync(fd, randomBytes(8), 0, 8, 8 * 10);
  closeSync(fd);
  const again = await extract(pictures, cache);
  expect(again.seen).toBe(32); // the chunk of the tenth picture
  const calm = await extract(pictures, "false");
  for (const { files } of pictures.domains)
    for (const file of files) expect(again.store!.read(file)).toEqual(calm.store!.read(file));
  again.store![Symbol.dispose]();
});

test("features are the same bytes after a stop and a restart", async () => {
  const { pictures, cache } = await dataset();
  const rough = await extract(pictures, cache, { shouldStop: () => true });
  expect({ stopped: rough.store === null, seen: rough.seen }).toEqual({ stopped: true, seen: 32 });
  const rest = await extract(pictures, cache);
  expect(rest.seen).toBe(48);
  const calm = await extract(pictures, "false");
  for (const { files } of pictures.domains)
    for (const file of files) expect(rest.store!.read(file)).toEqual(calm.store!.read(file));
  rest.store![Symbol.dispose]();
});

test("a picture that cannot be read is reported, and the others are processed", async () => {
  const { pictures, cache } = await dataset();
  const [broken, gone] = pictures.domains[0].files;
  writeFileSync(join(pictures.root, broken), "no picture");
  rmSync(join(pictures.root, gone));
  const { store, seen } = await extract(pictures, cache);
  expect(seen).toBe(78);
  for (const path of [broken, gone]) expect(problemOf(store!.entries.get(path))).toContain("could not be");
  store![Symbol.dispose]();
  expect((await extract(pictures, cache)).seen).toBe(0);
});

test("it prints where the features are stored", async () => {
  const { pictures, cache } = await dataset();
  const said: string[] = [];
  (await extract(pictures, cache, { say: (text) => said.push(text) })).store![Symbol.dispose]();
  expect(said[0]).toBe(`features: cached in ${cache}`);
  expect(said[1]).toMatch(/^features: 80 pictures in [\d.]+ s, \d+ per second$/);
});

test("a complete cache of decoded pictures is read instead of the files, with the same features", async () => {
  const { pictures, cache } = await dataset();
  const calm = await extract(pictures, "false");
  await buildCache({ ...pictures, domains: pictures.domains.slice(1) }, { folder: cache });
  const said: string[] = [];
  const say = (text: string): unknown => said.push(text);
  (await extract(pictures, cache, { say, shouldStop: () => true })).store?.[Symbol.dispose]();
  expect(said.join("\n")).not.toContain("pictures: read from the cache");
  await buildCache(pictures, { folder: cache });
  const { store } = await extract(pictures, cache, { say });
  expect(said).toContain("pictures: read from the cache of decoded pictures");
  for (const { files } of pictures.domains)
    for (const file of files) expect(store!.read(file)).toEqual(calm.store!.read(file));
  store![Symbol.dispose]();
});
