import { expect, test } from "vitest";
import { makePictureFolder } from "../../tests/support/made-pictures.js";
import { temporaryFolder } from "../../tests/support/picture-folder.js";
import { liveTensors } from "../engine/device.js";
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
