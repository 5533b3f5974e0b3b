import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder, writeFile } from "../../../tests/support/picture-folder.js";
import type { OptionValues } from "../dataset.js";
import { imageFolder } from "./image-folder.js";

/** A folder with these (empty) files, opened. */
async function opened(files: readonly string[], options: OptionValues = {}) {
  const root = temporaryFolder();
  for (const file of files) writeFile(root, file);
  return imageFolder.open({ root, options });
}

test("a folder class/picture is one domain, and a note says that there are no domains", async () => {
  const dataset = await opened(["dog/1.png", "cat/2.png", "cat/1.png", "cat/young/0.png"]);
  expect(dataset.hasDomains).toBe(false);
  expect(dataset.classes).toEqual(["cat", "dog"]);
  expect(dataset.domains).toEqual([
    {
      name: "all",
      count: 4,
      labels: Int32Array.from([0, 0, 0, 1]),
      files: ["cat/1.png", "cat/2.png", "cat/young/0.png", "dog/1.png"],
    },
  ]);
  expect(dataset.notes).toEqual([
    "there are no domains; methods that need them, and holding out a domain, need folders domain/class/picture",
  ]);
});

test("classes that a domain lacks do not change the labels of the others, and are reported", async () => {
  const dataset = await opened(["a/cat/1.png", "a/dog/1.png", "b/dog/1.png", "b/emu/1.png"]);
  expect(dataset.classes).toEqual(["cat", "dog", "emu"]);
  expect(dataset.domains.map(({ labels }) => Array.from(labels))).toEqual([
    [0, 1],
    [1, 2],
  ]);
  expect(dataset.notes).toEqual([
    'domain "a" has no pictures of 1 class that other domains have: "emu"',
    'domain "b" has no pictures of 1 class that other domains have: "cat"',
  ]);
});

test("folders named for the parts of one set are its split, and not domains", async () => {
  const files = ["train/cat/1.png", "train/dog/1.png", "val/cat/1.png", "val/dog/1.png"];
  const parts = await opened([...files, "test/cat/1.png"]);
  expect(parts.hasDomains).toBe(false);
  expect(parts.domains).toHaveLength(1);
  expect(parts.domains[0].files).toEqual(files);
  expect(parts.givenSplit).toEqual(new Map([["all", { in: [0, 1], out: [2, 3], uda: [] }]]));
  expect(parts.notes[0]).toBe(
    '"train" is used for training and "val" for validation, as their names suggest; use data.layout=domain/class to treat them as domains',
  );
  expect(parts.notes[1]).toContain('"test" is not used for training');
  expect((await opened(files, { layout: "domain/class" })).domains.map(({ name }) => name)).toEqual(["train", "val"]);
  expect((await opened(["train/cat/1.png", "clinic/cat/1.png"])).givenSplit).toBeUndefined();
});

test("classes with similar names are reported", async () => {
  const alike = await opened(["a/Cat/1.png", "a/dog/1.png", "b/cat/1.png", "b/dog/1.png"]);
  expect(alike.notes[0]).toMatch(/^"Cat", "cat" are 2 classes with similar names/);
});

test("an empty class folder is reported, and is not a class if it is empty in every domain", async () => {
  const root = temporaryFolder();
  for (const file of ["a/cat/1.png", "a/dog/1.png", "b/cat/1.png", "b/dog/1.png"]) writeFile(root, file);
  for (const folder of ["a/emu", "b/emu"]) mkdirSync(join(root, folder));
  writeFile(root, "c/readme.txt");
  const dataset = await imageFolder.open({ root, options: {} });
  expect(dataset.classes).toEqual(["cat", "dog"]);
  expect(dataset.domains.map(({ name }) => name)).toEqual(["a", "b"]);
  expect(dataset.notes).toEqual([
    'skipped: 1 file that is not a picture by its extension ("c/readme.txt")',
    'skipped: folder "c", which has no pictures',
    'domain "a": 1 folder without pictures skipped ("emu")',
    'domain "b": 1 folder without pictures skipped ("emu")',
  ]);
});

test("a single domain, a single class and pictures outside the folders are reported", async () => {
  const dataset = await opened(["a/cat/1.png", "a/cat/2.png", "a/cat/3.png", "a/loose.png", "top.png"]);
  expect(dataset.domains.map(({ name, count }) => [name, count])).toEqual([["a", 3]]);
  expect(dataset.notes).toEqual([
    "skipped: 1 picture outside any domain folder",
    'there is only one domain, "a"; holding out a domain needs at least two',
    'domain "a": 1 picture outside any class folder skipped ("loose.png")',
    'there is only one class, "cat", so there is nothing to classify',
  ]);
});

test("folders around the whole are passed, as long as domain and class fit below", async () => {
  const dataset = await opened(["unzipped/data/a/cat/1.png", "unzipped/data/b/cat/1.png", "unzipped/data/b/dog/1.png"]);
  expect(dataset.domains.map(({ name }) => name)).toEqual(["a", "b"]);
  expect(dataset.domains[0].files).toEqual(["unzipped/data/a/cat/1.png"]);
  expect(dataset.notes[0]).toBe('the dataset starts at "unzipped/data"');
});

test("the layout can be given if it is ambiguous", async () => {
  const files = ["a/x/1.png", "a/x/2.png", "b/x/1.png"];
  expect((await opened(files)).hasDomains).toBe(true);
  const asClasses = await opened(files, { layout: "class" });
  expect(asClasses).toMatchObject({ hasDomains: false, classes: ["a", "b"], options: { layout: "class" } });
  await expect(opened(files, { layout: "flat" })).rejects.toThrow(
    /expected layout to be auto, domain\/class, class, got "flat"/,
  );
});

test("a folder without pictures, or without class folders, is an error that says what was expected", async () => {
  await expect(opened(["a/notes.txt"])).rejects.toThrow(
    /found no pictures .* expected domain\/class\/picture or class\/picture below it; skipped: 1 file that is not a picture/,
  );
  await expect(opened(["1.png", "2.png"])).rejects.toThrow(
    /its 2 pictures are not in class folders; put each one in a folder/,
  );
  await expect(opened(["1.png"])).rejects.toThrow(/its 1 picture is not in class folders/);
});

test("class and domain names may be odd", async () => {
  const dataset = await opened(["d 1/новый\nкласс/1.png", "d 1/😀/1.png", "d2/😀/1.png", "d2/'\"<b>/1.png"]);
  expect(dataset.classes).toEqual(["'\"<b>", "новый\nкласс", "😀"]);
  expect(dataset.notes).toContain('domain "d2" has no pictures of 1 class that other domains have: "новый\\nкласс"');
});

test("domains with classes inside train and val are recognized, instead of a classifier of domains", async () => {
  const files = ["train", "val"].flatMap((part) =>
    ["shop", "street"].flatMap((domain) => ["cup", "pen"].map((name) => `${part}/${domain}/${name}/1.png`)),
  );
  await expect(opened(files)).rejects.toThrow(
    '"train" contains "shop" and "street", which have the same folders inside, such as "cup": these are domains with classes, and not classes. Use the folder of the domains, --data train',
  );
  // Folders inside classes that differ are parts of a class.
  const parts = await opened(["train/cat/old/1.png", "train/dog/1.png", "val/cat/2.png", "val/dog/2.png"]);
  expect(parts.classes).toEqual(["cat", "dog"]);
});
