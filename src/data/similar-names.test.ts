import { expect, test } from "vitest";
import { similarNames } from "./similar-names.js";

test("class names that differ in case, separators or the Unicode form of accents are reported", () => {
  expect(similarNames(["Person", "dog", "person"])).toEqual([
    '"Person", "person" are 2 classes with similar names: use one name if they are the same class',
  ]);
  expect(similarNames(["fire truck", "fire-truck", "Fire_Truck"])).toHaveLength(1);
  expect(similarNames(["H\u00fcndin", "Hu\u0308ndin"])).toHaveLength(1);
});

test("names that are different to a person are not", () => {
  expect(similarNames(["cat", "cats", "Hund", "H\u00fcnd", "1", "10"])).toEqual([]);
});
