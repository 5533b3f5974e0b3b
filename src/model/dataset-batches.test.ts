import { expect, test } from "vitest";
import { matchClasses } from "./dataset-batches.js";

test("classes are matched by name, in any order", () => {
  expect(matchClasses(["cat", "dog"], ["dog", "cat"])).toEqual({ places: [1, 0], unknown: [], missing: [] });
});

test("case, spaces and underscores do not count where names differ in nothing else", () => {
  const { places } = matchClasses(["Alarm Clock", "house"], ["alarm_clock", "House"]);
  expect(places).toEqual([0, 1]);
});

test("a letter is the same however it is stored, and signs tell classes apart", () => {
  const [stored, typed] = ["Ka\u0308se", "K\u00e4se"]; // the decomposed form of macOS, and the composed form of keyboards
  expect(matchClasses([typed, "Kase"], [stored, "kase"]).places).toEqual([0, 1]);
  expect(matchClasses(["C", "A"], ["C++", "A+"]).places).toEqual([undefined, undefined]);
});

test("names that differ only in that are told apart by it", () => {
  const { places, unknown } = matchClasses(["us", "US"], ["US", "us", "Us"]);
  expect(places).toEqual([1, 0, undefined]);
  expect(unknown).toEqual(["Us"]);
  expect(matchClasses(["cat"], ["Cat", "cat"]).places).toEqual([undefined, 0]);
});

test("classes without a partner are reported, on both sides", () => {
  const { places, unknown, missing } = matchClasses(["cat", "dog"], ["cat", "fox"]);
  expect({ places, unknown, missing }).toEqual({ places: [0, undefined], unknown: ["fox"], missing: ["dog"] });
});
