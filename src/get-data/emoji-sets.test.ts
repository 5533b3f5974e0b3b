import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { emoji } from "../data/datasets/emoji.js";
import { npmSpec } from "../download/npm-tarball.js";
import { emojiClasses, emojiSets, setsNamed } from "./emoji-sets.js";

test("the docs have every set with its package, size, author and licence", () => {
  const docs = readFileSync(new URL("../../docs/get-weights-and-data.md", import.meta.url), "utf8");
  for (const { style, package: from, author, licence } of emojiSets()) {
    const facts = [npmSpec(from), (from.bytes / 1e6).toFixed(1), author, licence];
    expect(docs).toMatch(new RegExp(`\\| ${style}(, if named)? \\| ${facts.join(" \\| ")} \\|\n`));
  }
  const bytes = setsNamed([]).reduce((sum, each) => sum + each.package.bytes, 0);
  expect(docs).toContain(`The seven default styles have ${(bytes / 1e6).toFixed(1)} MB together`);
});

test("the default styles are those of the benchmark, and the classes are the same", () => {
  expect(setsNamed([]).map(({ style }) => style)).toEqual(emoji.published!.domains.map(({ name }) => name));
  expect(Object.keys(emojiClasses()).sort()).toEqual(emoji.published!.classes);
  expect(Object.values(emojiClasses()).flatMap((own) => Object.keys(own))).toHaveLength(684);
  expect(() => setsNamed(["notto"])).toThrow('unknown style of emoji "notto": did you mean "noto"?');
});
