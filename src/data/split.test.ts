import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { referenceVectors } from "../../tests/support/reference-vectors.js";
import { keyedRandom } from "../engine/philox.js";
import { UsageError } from "../errors.js";
import { type DomainSplit, splitDataset, splitDomain, splitHash, splitToJson } from "./split.js";

const digest = (numbers: readonly number[]) => createHash("md5").update(numbers.join(",")).digest("hex");
const ascending = (numbers: readonly number[]) => [...numbers].sort((a, b) => a - b);
const upTo = (n: number) => Array.from({ length: n }, (_, i) => i);

test("the split of VLCS's first domain is the reference's", () => {
  const split = splitDomain({ count: 1415, domain: 0, trialSeed: 0 });
  expect(split.out).toHaveLength(283);
  expect(split.out.slice(0, 5)).toEqual([222, 1032, 864, 859, 1037]);
  expect(split.in.slice(0, 5)).toEqual([508, 1125, 317, 633, 1149]);
});

test("the out parts of VLCS have the sizes of the reference's records", () => {
  const counts = [1415, 2656, 3282, 3376];
  const split = splitDataset(
    counts.map((count, i) => ({ name: `domain ${i}`, count })),
    { trialSeed: 0 },
  );
  expect([...split.values()].map(({ out }) => out.length)).toEqual([283, 531, 656, 675]);
});

test.each(referenceVectors.split)("NumPy splits $arguments the same way", ({ arguments: given, parts }) => {
  const split = splitDomain(given);
  for (const name of ["in", "out", "uda"] as const) {
    expect(split[name].slice(0, 6), name).toEqual(parts[name].start);
    expect(split[name], name).toHaveLength(parts[name].length);
    expect(digest(split[name]), name).toBe(parts[name].digest);
  }
});

test("every picture of a domain is in exactly one part, of the right size, at any size and fraction", () => {
  const random = keyedRandom(0, "split test");
  for (let i = 0; i < 200; i++) {
    const count = random.integer(300);
    const [holdout, uda] = [random.uniform(), random.uniform()];
    const test = random.bernoulli(0.5);
    const split = splitDomain({ count, domain: i % 7, trialSeed: i, holdout, uda, test });
    expect(ascending([...split.in, ...split.out, ...split.uda])).toEqual(upTo(count));
    expect(split.out).toHaveLength(Math.floor(count * holdout));
    expect(split.uda).toHaveLength(test ? Math.floor((count - split.out.length) * uda) : 0);
  }
});

test("holding a domain out changes the order of its in part and nothing else", () => {
  const [train, held] = [false, true].map((test) => splitDomain({ count: 100, domain: 2, trialSeed: 1, test }));
  expect(held.out).toEqual(train.out);
  expect(held.in).not.toEqual(train.in);
  expect(ascending(held.in)).toEqual(ascending(train.in));
});

test("a domain's split does not depend on the other domains or on which of them is held out", () => {
  const domains = [50, 60, 70].map((count, i) => ({ name: "abc"[i], count }));
  const alone = splitDataset(domains.slice(0, 1), { trialSeed: 3 });
  const among = splitDataset(domains, { trialSeed: 3, testDomains: ["c"] });
  const other = splitDataset([domains[0], { name: "b", count: 9 }, domains[2]], { trialSeed: 3, testDomains: ["b"] });
  expect(among.get("a")).toEqual(alone.get("a"));
  expect(other.get("a")).toEqual(alone.get("a"));
});

test("another trial, and another place in the dataset, is another split", () => {
  const split = (domain: number, trialSeed: number) => splitDomain({ count: 40, domain, trialSeed }).in.join();
  expect(new Set([split(0, 0), split(0, 1), split(1, 0), split(1, 1)]).size).toBe(4);
});

test.each(referenceVectors.splitHash)("the hash of the split of $counts is Python's SHA-256 of its JSON", (given) => {
  const { trialSeed, hash } = given;
  const domains = Object.entries(given.counts).map(([name, count]) => ({ name, count }));
  expect(splitHash(splitDataset(domains, { trialSeed }))).toBe(hash);
});

test("the hash knows the order inside a part, the parts and the names, but not the order of the domains", () => {
  const parts = { in: [0, 1], out: [2], uda: [] };
  const hashes = [
    new Map([["a", parts]]),
    new Map([["b", parts]]),
    new Map([["a", { ...parts, in: [1, 0] }]]),
    new Map([["a", { in: [0, 1, 2], out: [], uda: [] }]]),
    new Map([["a", { in: [0, 1], out: [], uda: [2] }]]),
  ].map(splitHash);
  expect(new Set(hashes).size).toBe(5);
  for (const hash of hashes) expect(hash).toMatch(/^[0-9a-f]{16}$/);
  const other = { in: [0], out: [], uda: [] };
  const forwards = new Map<string, DomainSplit>([["a", parts]]).set("b", other);
  expect(splitHash(forwards)).toBe(splitHash(new Map<string, DomainSplit>([["b", other]]).set("a", parts)));
});

test("as plain data a split has its uda part only where there is one", () => {
  const split = new Map([
    ["a", { in: [1], out: [0], uda: [] }],
    ["b", { in: [], out: [0], uda: [1] }],
  ]);
  expect(splitToJson(split)).toEqual({ a: { in: [1], out: [0] }, b: { in: [], out: [0], uda: [1] } });
});

test.each([
  [{ holdout: 1 }, "expected holdout to be a fraction from 0 to below 1, got 1"],
  [{ holdout: -0.1 }, "expected holdout to be a fraction"],
  [{ holdout: Number.NaN }, "expected holdout to be a fraction"],
  [{ uda: 1 }, "expected uda to be a fraction"],
  [{ count: 2.5 }, "expected a number of pictures, got 2.5"],
  [{ trialSeed: 0.5 }, "expected an integer as trial seed, got 0.5"],
])("%o is refused", (wrong, message) => {
  const split = () => splitDomain({ count: 10, domain: 0, trialSeed: 0, ...wrong });
  expect(split).toThrow(UsageError);
  expect(split).toThrow(message);
});

test("an unknown test domain is refused with the nearest name, and so are two domains of one name", () => {
  const domains = [{ name: "photo", count: 10 }];
  expect(() => splitDataset(domains, { trialSeed: 0, testDomains: ["foto"] })).toThrow(
    'unknown test domain "foto": did you mean "photo"? (known: photo)',
  );
  expect(() => splitDataset([...domains, ...domains], { trialSeed: 0 })).toThrow('got "photo" twice');
});
