import { copyFileSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { makePictureFolder } from "../../tests/support/made-pictures.js";
import { temporaryFolder, writePictures } from "../../tests/support/picture-folder.js";
import { makeScenes, writeAltered } from "../../tests/support/scenes.js";
import type { PictureDataset } from "../data/dataset.js";
import { openDataset } from "../data/open-dataset.js";
import { dataNotes } from "./data-notes.js";

const opened = async (root: string): Promise<PictureDataset> => (await openDataset(root)) as PictureDataset;

test("a sound folder needs no word", async () => {
  const root = temporaryFolder();
  await makePictureFolder(root, { perCell: 5 });
  expect(await dataNotes(await opened(root), { holdsOut: true })).toEqual([]);
});

test("facts that change the meaning of the numbers are reported: shared pictures, other labels, a class of one domain", async () => {
  const root = temporaryFolder();
  await makePictureFolder(root, { perCell: 5 });
  await writePictures(root, ["a/z/lone.png"]);
  copyFileSync(join(root, "a/x/000.png"), join(root, "b/x/copy.png"));
  copyFileSync(join(root, "a/x/001.png"), join(root, "b/y/copy.png"));
  const torn = readFileSync(join(root, "a/x/002.png"));
  writeFileSync(join(root, "a/x/torn.png"), torn.subarray(0, torn.length - 40));
  const folder = await opened(root);
  expect(await dataNotes(folder, { holdsOut: true })).toEqual([
    '1 class with fewer than 5 pictures, too few to train or evaluate on: "z" (1)',
    '"z" is a class of domain "a" only: if that domain is held out, no model can learn it, and all its pictures count as wrong',
    '2 pictures are in several domains. The model then sees pictures of the held-out domain in training, and its accuracy there is too high ("a/x/000.png" = "b/x/copy.png"; nudge data inspect lists all)',
    '1 picture is in several classes, so at least one label is wrong ("a/x/001.png" = "b/y/copy.png")',
    '1 file is truncated; the readable part is used: "a/x/torn.png"',
  ]);
  const notHeldOut = await dataNotes(folder, { holdsOut: false });
  expect(notHeldOut.map((note) => note.slice(0, 12))).toEqual(["1 class with", "1 picture is", "1 file is tr"]);
});

test("copies and near-duplicates of training pictures in a val folder are reported", async () => {
  const root = temporaryFolder();
  await makeScenes(root, { perCell: 6, domains: ["train", "val"], classes: ["mug", "pen"] });
  expect(await dataNotes(await opened(root), { holdsOut: false })).toEqual([]);
  copyFileSync(join(root, "train/mug/0.png"), join(root, "val/mug/copy.png"));
  await writeAltered(join(root, "train/pen/1.png"));
  renameSync(join(root, "train/pen/1-smaller.jpg"), join(root, "val/pen/smaller.jpg")); // two other copies stay in train
  expect(await dataNotes(await opened(root), { holdsOut: false })).toEqual([
    "2 validation pictures are copies or near-duplicates of training pictures, so the validation accuracy is too high (val/mug/copy.png ≈ train/mug/0.png); use each group only for training or only for validation",
  ]);
});

test("a domain without readable pictures is an error before training", async () => {
  const root = temporaryFolder();
  await makePictureFolder(root, { perCell: 2 });
  for (const name of ["x/000", "x/001", "y/000", "y/001"]) writeFileSync(join(root, `b/${name}.png`), "");
  await expect(dataNotes(await opened(root), { holdsOut: true })).rejects.toThrow(
    'domain "b": none of its 4 pictures can be read (the first, b/x/000.png: empty: it has no bytes); repair them',
  );
});
