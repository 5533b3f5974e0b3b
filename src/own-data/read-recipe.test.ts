import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../tests/support/picture-folder.js";
import { readRecipe } from "./read-recipe.js";
import type { Recipe } from "./recipe.js";

const domains = [{ name: "a", accuracy: 0.5, count: 4 }];
const recipe: Recipe = {
  ...{ format: 1, by: "held-out domains", folds: [["a"], ["b"]], nearCopies: [], c: 0.01 },
  ...{ strengths: [{ c: 0.01, mean: 0.5 }], coefficient: 0, reason: "the only one", nested: [] },
  candidates: [{ name: "exact probe", coefficient: 0, domains, mean: 0.5, below: 0, error: 0, chosen: true }],
  ...{ steps: 0, seconds: { "exact probe": 1.3 } },
};

test("a recipe is read as it was written; a damaged one is refused by its name", () => {
  const folder = temporaryFolder();
  const path = join(folder, "recipe.json");
  expect(readRecipe(folder)).toBeNull();
  writeFileSync(path, JSON.stringify(recipe));
  expect(readRecipe(folder)).toEqual(recipe);
  for (const [text, words] of [
    ["", "the recipe of a run could not be read"],
    ["[]", "expected an object"],
    [JSON.stringify({ ...recipe, candidates: [] }), 'expected "candidates" to be a list of at least one candidate'],
    [JSON.stringify({ ...recipe, format: 2 }), "Update NUDGE"],
  ] as const) {
    writeFileSync(path, text);
    expect(() => readRecipe(folder), text).toThrow(words);
    expect(() => readRecipe(folder), text).toThrow(path);
  }
});
