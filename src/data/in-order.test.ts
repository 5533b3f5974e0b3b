import { join } from "node:path";
import sharp from "sharp";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../tests/support/picture-folder.js";
import { inOrder, slices } from "./in-order.js";
import { givenPictures } from "./sample-source.js";

test("a batch is returned when the next one needs no more work of this thread", async () => {
  const log: string[] = [];
  const finder = {
    find: (samples: readonly number[]) => {
      log.push(`find ${samples}`);
      return samples.map(async (sample) => sample);
    },
    started: async () => {
      await new Promise((resolve) => setTimeout(resolve, 5));
      log.push("started");
    },
  };
  for await (const { found } of inOrder(slices([1, 2, 3], 2), finder)) log.push(`work on ${found}`);
  expect(log).toEqual(["find 1,2", "find 3", "started", "work on 1,2", "started", "work on 3"]);
});

test("pictures of the next batch are decoded while this thread computes", async () => {
  const folder = temporaryFolder();
  const files = Array.from({ length: 6 }, (_, i) => join(folder, `${i}.png`));
  const pixels = Buffer.alloc(40 * 40 * 3, 90);
  for (const file of files) await sharp(pixels, { raw: { width: 40, height: 40, channels: 3 } }).toFile(file);
  const colours = { mean: [0, 0, 0], std: [1, 1, 1] };
  const source = givenPictures(files, { inputShape: [3, 32, 32], ...colours });
  const samples = files.map((_, index) => ({ domain: 0, index }));
  let decoded = 0;
  const counting = {
    started: () => source.started!(),
    find: (batch: typeof samples) =>
      source.find(batch).map(async (each) => {
        const found = await each;
        decoded++;
        return found;
      }),
  };
  const block = new Int32Array(new SharedArrayBuffer(4));
  for await (const { found } of inOrder(slices(samples, 3), counting)) {
    expect(found).toHaveLength(3);
    Atomics.wait(block, 0, 0, 500); // this thread does nothing else, as while a network runs
    await new Promise((resolve) => setImmediate(resolve)); // one turn, in which finished work is handed over
    await new Promise((resolve) => setImmediate(resolve));
    expect(decoded).toBe(6);
  }
});
