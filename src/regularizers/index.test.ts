import { expect, test } from "vitest";
import { regularizerNamed, regularizers } from "./index.js";

test("every regularizer stands under its id and has a title of its own", () => {
  for (const [id, definition] of Object.entries(regularizers)) expect(definition.id).toBe(id);
  const titles = Object.values(regularizers).map(({ title }) => title);
  expect(new Set(titles).size).toBe(titles.length);
});

test("a regularizer is found by id and by title, in any case", () => {
  for (const name of ["nuclear-norm", "NU", "nu", "Nuclear-Norm"]) {
    expect(regularizerNamed(name).id).toBe("nuclear-norm");
  }
});

test("an unknown one is named with its nearest", () => {
  expect(() => regularizerNamed("nuclear-nrom")).toThrow(
    /unknown regularizer "nuclear-nrom": did you mean "nuclear-norm"\?/,
  );
});
