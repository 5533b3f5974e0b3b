import { expect, test } from "vitest";
import type { Domain } from "./dataset.js";
import { emojiOf, emojiParts, splitByEmoji } from "./emoji-split.js";
import { splitHash } from "./split.js";

/** Classes of 40, 20 and 6 emoji; the first has two pairs of mirror images. */
const codes = [
  ["1f448", "1f449", "1f91b", "1f91c", ...Array.from({ length: 36 }, (_, i) => `a${i}`)],
  Array.from({ length: 20 }, (_, i) => `b${i}`),
  Array.from({ length: 6 }, (_, i) => `c${i}`),
];
const classes = new Map(codes.flatMap((own, label) => own.map((code) => [code, label] as const)));
const options = { trialSeed: 0, holdout: 0.2, newEmoji: 0.3 };

const style = (name: string): Domain => ({
  name,
  count: classes.size,
  labels: Int32Array.from(classes.values()),
  files: [...classes].map(([code, label]) => `${name}/${label}/${code}.png`),
});
const domains = ["noto", "twemoji", "openmoji"].map(style);

test("each class has its share of new, validation and training emoji", () => {
  const parts = emojiParts(classes, options);
  const count = (label: number, part: string) => codes[label].filter((code) => parts.get(code) === part).length;
  expect([count(1, "new"), count(1, "validation"), count(1, "training")]).toEqual([6, 3, 11]);
  expect([count(2, "new"), count(2, "validation"), count(2, "training")]).toEqual([2, 1, 3]);
  expect(count(0, "new")).toBeGreaterThanOrEqual(12);
  expect(count(0, "new")).toBeLessThanOrEqual(13); // a pair is not divided
});

test("mirror images are in the same part in every trial, and trials have other new emoji", () => {
  const fresh = new Set<string>();
  for (let trialSeed = 0; trialSeed < 20; trialSeed++) {
    const parts = emojiParts(classes, { ...options, trialSeed });
    expect(parts.get("1f449")).toBe(parts.get("1f448"));
    expect(parts.get("1f91c")).toBe(parts.get("1f91b"));
    for (const [code, part] of parts) if (part === "new") fresh.add(code);
  }
  expect(fresh.size).toBe(classes.size);
});

test("no training or validation picture shows a new emoji, and no training picture a validation emoji", () => {
  const split = splitByEmoji(domains, { ...options, testDomains: ["openmoji"] });
  const emoji = (name: string, part: "in" | "out") => {
    const { files = [] } = domains.find((each) => each.name === name)!;
    return new Set(split.get(name)![part].map((i) => emojiOf(files[i])));
  };
  const trained = emoji("noto", "in");
  const validated = emoji("noto", "out");
  const fresh = emoji("openmoji", "in");
  expect([...validated].filter((code) => fresh.has(code))).toEqual([]);
  expect([...trained].filter((code) => validated.has(code) || fresh.has(code))).toEqual([]);
  expect(emoji("twemoji", "in")).toEqual(trained);
  expect(emoji("openmoji", "out")).toEqual(trained);
  expect(trained.size + validated.size + fresh.size).toBe(classes.size);
});

test("the split is the same on every machine, and does not depend on the other styles", () => {
  const split = splitByEmoji(domains, { ...options, testDomains: ["openmoji"] });
  expect(splitHash(split)).toBe("ae589702ae943291");
  const fewer = splitByEmoji(domains.slice(1), { ...options, testDomains: ["openmoji"] });
  expect(fewer.get("openmoji")).toEqual(split.get("openmoji"));
});
