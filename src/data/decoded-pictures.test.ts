import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { makePictureFolder } from "../../tests/support/made-pictures.js";
import { temporaryFolder } from "../../tests/support/picture-folder.js";
import { liveTensors } from "../engine/device.js";
import { loadNative } from "../engine/load.js";
import { decodeFile } from "./decode.js";
import { DecodedPictures } from "./decoded-pictures.js";
import type { FoundPicture } from "./picture-store.js";

const SIZE = [40, 32] as const;
const BYTES = 40 * 32 * 3;
const samples = [3, 0, 2, 3].map((index) => ({ domain: 0, index }));

/** The pixels of a batch, from a store with room for some pictures. */
async function pixelsOf(store: DecodedPictures): Promise<Buffer[]> {
  const found = (await Promise.all(store.find(samples))) as FoundPicture[];
  const { source, parts, offsets, sizes, owned } = store.block(found);
  expect([...sizes]).toEqual(samples.flatMap(() => SIZE));
  const bytes = source?.bytes();
  if (owned) source?.dispose();
  return found.map((_, i) => Buffer.from(parts?.[i] ?? bytes!.subarray(offsets[i], offsets[i] + BYTES)));
}

test("batches have the same pixels with room for none, some and all pictures, and nothing is left behind", async () => {
  const dataset = await makePictureFolder(temporaryFolder(), { perCell: 4, size: () => [...SIZE] });
  const before = liveTensors();
  const all: Buffer[][] = [];
  for (const room of [0, 1, 2, 100]) {
    using store = new DecodedPictures(dataset, { shortSide: 256, device: "cpu", memoryLimit: room * BYTES });
    all.push(await pixelsOf(store), await pixelsOf(store));
    expect(store.bytes).toBe(Math.min(room, 3) * BYTES);
  }
  for (const pixels of all) expect(pixels).toEqual(all[0]);
  expect(new Set(all[0].map((each) => each.toString("hex"))).size).toBe(3);
  expect(liveTensors()).toBe(before);
});

test("pixels that no batch uses are freed with the store, also if they are decoded later", async () => {
  const dataset = await makePictureFolder(temporaryFolder(), { perCell: 4, size: () => [...SIZE] });
  const before = liveTensors();
  const store = new DecodedPictures(dataset, { shortSide: 256, device: "cpu", memoryLimit: 0 });
  await Promise.all(store.find(samples));
  expect(liveTensors()).toBe(before + 1);
  const later = Promise.all(store.find(samples));
  store[Symbol.dispose]();
  await later;
  expect(liveTensors()).toBe(before);
});

test("pictures that the addon cannot scale down have sharp's bytes, beside others of their batch", async () => {
  const sizes = [
    [80, 70],
    [40, 32],
    [63, 65],
    [16, 90],
    [64, 64],
    [63, 63],
  ] as const;
  const root = temporaryFolder();
  const dataset = await makePictureFolder(root, { perCell: sizes.length, size: (i) => sizes[i % sizes.length] });
  using store = new DecodedPictures(dataset, { shortSide: 16, device: "cpu", memoryLimit: 0 });
  const batch = sizes.map((_, index) => ({ domain: 0, index }));
  const found = (await Promise.all(store.find(batch))) as FoundPicture[];
  const block = store.block(found);
  const bytes = block.source?.bytes();
  for (const [i, { index }] of batch.entries()) {
    const one = await decodeFile(join(root, dataset.domains[0].files[index]), { shortSide: 16 });
    expect([...block.sizes.subarray(2 * i, 2 * i + 2)]).toEqual([one.width, one.height]);
    const start = block.offsets[i];
    const got = block.parts?.[i] ?? bytes!.subarray(start, start + one.pixels.length);
    expect(Buffer.compare(got, one.pixels)).toBe(0);
  }
});

test("an error while pictures are decoded together reaches every one of them", async () => {
  const dataset = await makePictureFolder(temporaryFolder(), { perCell: 4, size: () => [...SIZE] });
  using store = new DecodedPictures(dataset, { shortSide: 256, device: "cpu", memoryLimit: 0 });
  const outcomes = await Promise.allSettled(store.find([...samples, { domain: 0, index: 1000 }]));
  expect(outcomes.map(({ status }) => status)).toEqual(new Array(5).fill("rejected"));
});

test("pixels that nobody can use any more are freed by the garbage collector, although the store is open", async () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const dataset = await makePictureFolder(temporaryFolder(), { perCell: 4, size: () => [...SIZE] });
  const before = liveTensors();
  using store = new DecodedPictures(dataset, { shortSide: 256, device: "cpu", memoryLimit: 0 });
  for (let i = 0; i < 5; i++) await Promise.all(store.find(samples));
  expect(liveTensors()).toBe(before + 5);
  for (let i = 0; i < 50 && liveTensors() > before + 1; i++) {
    collect();
    await new Promise((done) => setTimeout(done, 1));
  }
  expect(liveTensors()).toBeLessThanOrEqual(before + 1); // one reference may remain on the stack
});

test("for another device, kept, grouped and repeated pictures are copied once, in one buffer", async () => {
  // The host under another name. Its memory cannot be pinned without a GPU.
  const native = loadNative();
  const { decodePictures, join: joinParts } = native;
  native.decodePictures = (paths, threads, _, ...rest) => decodePictures(paths, threads, false, ...rest);
  native.join = (parts) => joinParts(parts, false);
  try {
    const size = (i: number) => (i % 4 === 2 ? ([80, 70] as const) : SIZE); // one is decoded by itself
    const dataset = await makePictureFolder(temporaryFolder(), { perCell: 4, size });
    const batch = [...samples, { domain: 1, index: 2 }, { domain: 1, index: 0 }, { domain: 1, index: 2 }];
    const before = liveTensors();
    /** The pixels of the batch, which was found in two parts, as pictures that replace others are. */
    const bytesOf = async (store: DecodedPictures): Promise<Buffer[]> => {
      const found = await Promise.all([...store.find(batch.slice(0, 5)), ...store.find(batch.slice(5))]);
      const { source, parts, offsets, sizes, owned } = store.block(found as FoundPicture[]);
      const bytes = source?.bytes();
      if (owned) source?.dispose();
      return batch.map((_, i) => {
        const end = offsets[i] + sizes[2 * i] * sizes[2 * i + 1] * 3;
        return Buffer.from(parts?.[i] ?? bytes!.subarray(offsets[i], end));
      });
    };
    for (const room of [0, 1, 2, 100]) {
      const options = { shortSide: 16, memoryLimit: room * 20 * 16 * 3 };
      using host = new DecodedPictures(dataset, { ...options, device: "cpu" });
      using other = new DecodedPictures(dataset, { ...options, device: "cpu:0" });
      for (const _ of ["decoded", "again"]) expect(await bytesOf(other)).toEqual(await bytesOf(host));
    }
    expect(liveTensors()).toBe(before);
  } finally {
    Object.assign(native, { decodePictures, join: joinParts });
  }
});
