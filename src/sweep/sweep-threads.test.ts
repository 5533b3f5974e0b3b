import { expect, test } from "vitest";
import { temporaryFolder } from "../../tests/support/picture-folder.js";
import { fixedThreads, fixThreads } from "./sweep-threads.js";

test("the first launch fixes the threads of a sweep, and later ones keep to it", () => {
  const folder = temporaryFolder();
  expect(fixedThreads(folder)).toBeUndefined();
  expect(fixThreads(folder, 4)).toBe(4);
  expect(fixThreads(folder, 1)).toBe(4);
  expect(fixedThreads(folder)).toBe(4);
});
