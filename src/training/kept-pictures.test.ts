import { expect, test } from "vitest";
import { makePictureFolder } from "../../tests/support/made-pictures.js";
import { temporaryFolder } from "../../tests/support/picture-folder.js";
import { liveTensors } from "../engine/device.js";
import { KeptPictures } from "./kept-pictures.js";

test("pictures are opened once for the runs of a dataset, and freed before another is opened", async () => {
  const [first, second] = [temporaryFolder(), temporaryFolder()];
  const [a, b] = [await makePictureFolder(first, { perCell: 2 }), await makePictureFolder(second, { perCell: 3 })];
  const cache = temporaryFolder();
  const before = liveTensors();
  using kept = new KeptPictures();
  const source = async (dataset: typeof a) => {
    using store = await kept.open(dataset, { cache });
    expect(store.kind).toBe("memory");
    const found = await store.find([{ domain: 0, index: 1 }])[0];
    if ("problem" in found) throw new Error(found.problem);
    return store.block([found]).source;
  };
  const bytes = await source(a);
  expect(await source(a)).toBe(bytes); // the same tensor: nothing was read again
  expect(bytes?.isDisposed).toBe(false);
  const others = await source(b);
  expect([bytes?.isDisposed, others?.isDisposed]).toEqual([true, false]);
  kept[Symbol.dispose]();
  expect(others?.isDisposed).toBe(true);
  expect(liveTensors()).toBe(before);
});

test("pictures that were decoded stay decoded for the next run", async () => {
  const folder = temporaryFolder();
  const dataset = await makePictureFolder(folder, { perCell: 2 });
  using kept = new KeptPictures();
  const pixels = async () => {
    using store = await kept.open(dataset, { cache: false });
    const found = await store.find([{ domain: 0, index: 1 }])[0];
    return "problem" in found ? undefined : found.pixels;
  };
  const once = await pixels();
  expect(once).toBeDefined();
  expect(await pixels()).toBe(once);
});
