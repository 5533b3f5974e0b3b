import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { pictureBytes, temporaryFolder, writeFile, writePictures } from "../../tests/support/picture-folder.js";
import { findPictures, patternExpression } from "./named-pictures.js";

async function folder(): Promise<string> {
  const root = temporaryFolder();
  await writePictures(root, ["a/1.png", "a/2.jpg", "a/deep/3.png", "b/4.jpg", "[odd]/5.png"]);
  writeFile(root, "a/notes.txt", "no picture");
  return root;
}

const namesIn = async (root: string, given: readonly string[], input = ""): Promise<string[]> => {
  const { pictures } = await findPictures(given, async () => Buffer.from(input));
  return pictures.map(({ name }) => name.replace(`${root}/`, ""));
};

test("files, folders and patterns are found in the order in which they are named", async () => {
  const root = await folder();
  const at = (path: string): string => join(root, path);
  expect(await namesIn(root, [at("b"), at("a/1.png")])).toEqual(["b/4.jpg", "a/1.png"]);
  expect(await namesIn(root, [at("a")])).toEqual(["a/1.png", "a/2.jpg", "a/deep/3.png"]);
  expect(await namesIn(root, [`${root}/a/*`])).toEqual(["a/1.png", "a/2.jpg"]);
  expect(await namesIn(root, [`${root}/**/*.png`])).toEqual(["[odd]/5.png", "a/1.png", "a/deep/3.png"]);
  expect(await namesIn(root, [`${root}/{a,b}/*.jpg`])).toEqual(["a/2.jpg", "b/4.jpg"]);
  expect(await namesIn(root, [at("[odd]/5.png")])).toEqual(["[odd]/5.png"]); // there: no pattern
});

test("a list, also from standard input, names one path a line or between zero bytes", async () => {
  const root = await folder();
  const list = [join(root, "b/4.jpg"), "", join(root, "a/deep")].join("\r\n");
  writeFileSync(join(root, "list.txt"), list);
  const expected = ["b/4.jpg", "a/deep/3.png"];
  expect(await namesIn(root, [`@${join(root, "list.txt")}`])).toEqual(expected);
  expect(await namesIn(root, ["-"], list)).toEqual(expected);
  expect(await namesIn(root, ["-"], list.replaceAll("\r\n", "\0"))).toEqual(expected);
});

test("a picture can be read from standard input", async () => {
  const bytes = await pictureBytes("a.png");
  const { pictures } = await findPictures(["-"], async () => bytes);
  expect(pictures).toEqual([{ name: "standard input", input: bytes }]);
});

test("a missing file is an error that contains its path", async () => {
  const root = await folder();
  await expect(findPictures([join(root, "none.png")])).rejects.toThrow("there is no picture or folder");
  await expect(findPictures([`${root}/*.gif`])).rejects.toThrow("no picture matches");
  await expect(findPictures([`@${root}/none.txt`])).rejects.toThrow("the list");
  await expect(findPictures(["-"], async () => Buffer.from(""))).rejects.toThrow("no picture was found in -");
});

test("the characters of a pattern mean the same as in a shell", () => {
  const match = (pattern: string, path: string): boolean => patternExpression(pattern).test(path);
  expect([match("*.jpg", "a.jpg"), match("*.jpg", "a/b.jpg"), match("**/*.jpg", "a.jpg")]).toEqual([true, false, true]);
  expect([match("img_?.png", "img_1.png"), match("img_?.png", "img_12.png")]).toEqual([true, false]);
  expect([match("[a-c].png", "b.png"), match("[!a-c].png", "b.png"), match("a+(1).png", "a+(1).png")]).toEqual([true, false, true]); // biome-ignore format: pairs
});
