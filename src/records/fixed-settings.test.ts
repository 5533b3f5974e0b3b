import { expect, test } from "vitest";
import { commonFixed, type FixedSettings, fixedText, parseFixed, withoutFixed } from "./fixed-settings.js";

test("settings are words in the order of their names, and the words are the settings again", () => {
  const fixed = { steps: 300, lr: 1e-5, "data.duplicates": "my list.txt", probe: true, "data.root": "", name: "1e5x" };
  const text = fixedText(fixed);
  expect(text).toBe('data.duplicates="my list.txt" data.root= lr=0.00001 name=1e5x probe=true steps=300');
  expect(parseFixed(text)).toEqual(fixed);
});

test("values that read alike but are not the same stay apart", () => {
  expect(fixedText({ a: "x b=y" })).not.toBe(fixedText({ a: "x", b: "y" }));
  expect(fixedText({ a: 'x" b="y' })).not.toBe(fixedText({ a: "x", b: "y" }));
});

test("what all have alike is common, and what is left tells them apart", () => {
  const all: FixedSettings[] = [
    { lr: 1, steps: 3 },
    { lr: 2, steps: 3, probe: true },
  ];
  const common = commonFixed(all);
  expect(common).toEqual({ steps: 3 });
  expect(all.map((fixed) => withoutFixed(fixed, common))).toEqual([{ lr: 1 }, { lr: 2, probe: true }]);
  expect(commonFixed([])).toEqual({});
});
