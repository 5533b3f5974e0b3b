import { appendFileSync, cpSync, renameSync, rmSync } from "node:fs";
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
