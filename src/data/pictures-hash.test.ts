import { appendFileSync, cpSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { makePictureFolder } from "../../tests/support/made-pictures.js";
import { temporaryFolder } from "../../tests/support/picture-folder.js";
import type { PictureDataset } from "./dataset.js";
import { openDataset } from "./open-dataset.js";
import { picturesHash } from "./pictures-hash.js";

const hashOf = async (root: string): Promise<string> => picturesHash((await openDataset(root)) as PictureDataset);

test("a folder that was moved is the same; one with another label, another picture or one less is not", async () => {
  const root = temporaryFolder();
  const [first, moved] = [join(root, "first"), join(root, "moved")];
  await makePictureFolder(first, { perCell: 3, size: (n) => [20 + n, 16] });
  cpSync(first, moved, { recursive: true });
  const before = await hashOf(first);
  expect(before).toMatch(/^[0-9a-f]{16}$/);
  expect(await hashOf(moved)).toBe(before);
  renameSync(join(moved, "a/x/002.png"), join(moved, "a/y/900.png")); // as many pictures in each domain as before
  const relabelled = await hashOf(moved);
  expect(relabelled).not.toBe(before);
  renameSync(join(moved, "a/y/900.png"), join(moved, "a/x/002.png"));
  expect(await hashOf(moved)).toBe(before);
  appendFileSync(join(moved, "b/x/000.png"), "x");
  const replaced = await hashOf(moved);
  rmSync(join(moved, "b/x/000.png"));
  expect(new Set([before, relabelled, replaced, await hashOf(moved)]).size).toBe(4);
});

test("files that cannot be accessed are not an error here; their readers report them", () => {
  const of = (file: string): string =>
    picturesHash({ root: "/", domains: [{ name: "a", count: 1, labels: Int32Array.of(0), files: [file] }] });
  expect(of("dev/null/x.png")).toBe(of("nowhere/x.png"));
});

test("plain pictures of one size are distinguished by their content", async () => {
  const root = temporaryFolder();
  await makePictureFolder(root, { perCell: 2 });
  const plain = (place: string, middle: number): void => {
    const bytes = new Uint8Array(12_000); // black at its first and last rows
    bytes.fill(middle, 3000, 9000);
    writeFileSync(join(root, place), bytes);
  };
  const hashWith = async (x: number, y: number): Promise<string> => {
    plain("a/x/000.png", x);
    plain("a/y/000.png", y);
    return await hashOf(root);
  };
  const before = await hashWith(1, 2);
  expect(await hashWith(2, 1)).not.toBe(before); // the two have changed their labels
  expect(await hashWith(1, 3)).not.toBe(before);
  expect(await hashWith(1, 2)).toBe(before);
});
