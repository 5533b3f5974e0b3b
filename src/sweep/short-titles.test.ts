import { expect, test } from "vitest";
import { sharedSettings, shortLine, shortTitle } from "./short-titles.js";

test("settings that all runs share are not in their titles, and others are", () => {
  const titles = ["shapes · ERM · steps=9 lr=1 · trial 0", "shapes · ERM · steps=9 lr=2 · trial 0"];
  const shared = sharedSettings(titles);
  expect(shared).toEqual(["steps=9"]);
  expect(titles.map((title) => shortTitle(title, shared))).toEqual([
    "shapes · ERM · lr=1 · trial 0",
    "shapes · ERM · lr=2 · trial 0",
  ]);
  expect(shortTitle("a · steps=9 · b", shared)).toBe("a · b");
});

test("a single run keeps its title", () => {
  expect(sharedSettings(["a · steps=9"])).toEqual([]);
});

test("a long line is cut", () => {
  expect(shortLine("abcdef", 4)).toBe("abc…");
  expect(shortLine("abcd", 4)).toBe("abcd");
});
