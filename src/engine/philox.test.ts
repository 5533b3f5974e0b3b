import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { UsageError } from "../errors.js";
import { keyedRandom, Philox, philox4x32 } from "./philox.js";

const words = (hex: string): number[] => hex.split(" ").map((word) => Number.parseInt(word, 16));

// Counter, key and output from Random123's tests/kat_vectors, "philox4x32 10".
test.each([
  ["00000000 00000000 00000000 00000000", "00000000 00000000", "6627e8d5 e169c58d bc57ac4c 9b00dbd8"],
  ["ffffffff ffffffff ffffffff ffffffff", "ffffffff ffffffff", "408f276d 41c83b0e a20bc7c6 6d5451fd"],
  ["243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0", "d16cfe09 94fdcceb 5001e420 24126ea1"],
])("the block function gives Random123's known answer for counter %s", (counter, key, answer) => {
  expect([...philox4x32(words(counter), words(key))]).toEqual(words(answer));
});

/** The same block function with big integers, written from the paper and independent of the fast one. */
function slowPhilox(counter: number[], key: number[]): number[] {
  const mask = 0xffffffffn;
  let [c0, c1, c2, c3] = counter.map(BigInt);
  let [k0, k1] = key.map(BigInt);
  for (let round = 0; round < 10; round++) {
    const [p0, p1] = [0xd2511f53n * c0, 0xcd9e8d57n * c2];
    [c0, c1, c2, c3] = [(p1 >> 32n) ^ c1 ^ k0, p1 & mask, (p0 >> 32n) ^ c3 ^ k1, p0 & mask];
    [k0, k1] = [(k0 + 0x9e3779b9n) & mask, (k1 + 0xbb67ae85n) & mask];
  }
  return [c0, c1, c2, c3].map(Number);
}

test("the block function agrees with big-integer arithmetic on a thousand inputs", () => {
  const random = keyedRandom(1, "inputs");
  for (let i = 0; i < 1000; i++) {
    const counter = Array.from({ length: 4 }, () => random.uint32());
    const key = [random.uint32(), random.uint32()];
    expect([...philox4x32(counter, key)]).toEqual(slowPhilox(counter, key));
  }
});

test("a stream is its blocks in order of the counter", () => {
  const stream = new Philox([7, 8], [9, 10]);
  const drawn = Array.from({ length: 12 }, () => stream.uint32());
  expect(drawn).toEqual([0, 1, 2].flatMap((block) => slowPhilox([block, 0, 9, 10], [7, 8])));
});

test("key and stream come from the SHA-256 of the JSON of seed and purpose", () => {
  const hash = createHash("sha256").update('[3,"shuffle",20,"sketch"]').digest();
  const word = (i: number) => hash.readUInt32LE(4 * i);
  const expected = new Philox([word(0), word(1)], [word(2), word(3)]);
  const random = keyedRandom(3, "shuffle", 20, "sketch");
  for (let i = 0; i < 8; i++) expect(random.uint32()).toBe(expected.uint32());
});

test("the streams are pinned, so that old runs can be repeated", () => {
  const random = keyedRandom(0, "pinned");
  expect({
    uint32: random.uint32(),
    uniform: random.uniform(),
    ranged: random.uniform(-2, 3),
    integer: random.integer(1000),
    normals: [random.normal(), random.normal(), random.normal()],
    beta: random.beta(0.2, 0.2),
    permutation: [...random.permutation(8)],
  }).toMatchInlineSnapshot(`
    {
      "beta": 0.5194364608581209,
      "integer": 186,
      "normals": [
        1.383191709468701,
        -0.938324926203111,
        -0.5633245848493569,
      ],
      "permutation": [
        4,
        6,
        2,
        3,
        0,
        1,
        5,
        7,
      ],
      "ranged": -0.756250337191331,
      "uint32": 1975693837,
      "uniform": 0.9859980588705973,
    }
  `);
});

test("purposes that differ in any part, or in where a part ends, give different streams", () => {
  const first = (...purpose: (string | number)[]) => keyedRandom(0, ...purpose).uint32();
  const drawn = [
    first("a"),
    first("a", 0),
    first("a", "0"),
    first("a0"),
    first("a", 0, 0),
    first("b"),
    keyedRandom(1, "a").uint32(),
  ];
  expect(new Set(drawn).size).toBe(drawn.length);
});

/** Returns the mean and variance of draws. */
function moments(count: number, draw: () => number): { mean: number; variance: number } {
  let [sum, squares] = [0, 0];
  for (let i = 0; i < count; i++) {
    const x = draw();
    sum += x;
    squares += x * x;
  }
  return { mean: sum / count, variance: squares / count - (sum / count) ** 2 };
}

// Tolerances are at least five standard errors: a correct generator fails for one seed in a million, and the seed is
// fixed.
const draws = 200_000;

test("uniform draws lie in the interval and have its mean and variance", () => {
  const random = keyedRandom(0, "uniform");
  let [low, high] = [1, 0];
  const { mean, variance } = moments(draws, () => {
    const u = random.uniform();
    [low, high] = [Math.min(low, u), Math.max(high, u)];
    return u;
  });
  expect(low).toBeGreaterThanOrEqual(0);
  expect(high).toBeLessThan(1);
  expect(Math.abs(mean - 1 / 2)).toBeLessThan(0.0035);
  expect(Math.abs(variance - 1 / 12)).toBeLessThan(0.001);
});

test("uniform draws use all 53 bits", () => {
  const random = keyedRandom(0, "bits");
  const odd = Array.from({ length: 1000 }, () => (random.uniform() * 2 ** 53) % 2).reduce((a, b) => a + b);
  expect(odd).toBeGreaterThan(420);
  expect(odd).toBeLessThan(580);
});

test("normal draws have the normal's first four moments, and pairs are uncorrelated", () => {
  const random = keyedRandom(0, "normal");
  const x = Array.from({ length: draws }, () => random.normal());
  const moment = (power: number) => x.reduce((sum, v) => sum + v ** power, 0) / draws;
  expect(Math.abs(moment(1))).toBeLessThan(0.012);
  expect(Math.abs(moment(2) - 1)).toBeLessThan(0.017);
  expect(Math.abs(moment(3))).toBeLessThan(0.045);
  expect(Math.abs(moment(4) - 3)).toBeLessThan(0.12);
  const neighbours = x.slice(1).reduce((sum, v, i) => sum + v * x[i], 0) / draws;
  expect(Math.abs(neighbours)).toBeLessThan(0.012);
  // The share beyond two standard deviations, 2(1 − Φ(2)).
  expect(Math.abs(x.filter((v) => Math.abs(v) > 2).length / draws - 0.0455)).toBeLessThan(0.0025);
});

test.each([
  [0.2, 0.2],
  [1, 1],
  [0.5, 2],
  [3, 1.5],
  [40, 60],
])("beta(%d, %d) draws have its mean and variance", (a, b) => {
  const random = keyedRandom(0, "beta", a, b);
  const { mean, variance } = moments(draws, () => random.beta(a, b));
  const trueVariance = (a * b) / ((a + b) ** 2 * (a + b + 1));
  expect(Math.abs(mean - a / (a + b))).toBeLessThan(5 * Math.sqrt(trueVariance / draws));
  expect(Math.abs(variance / trueVariance - 1)).toBeLessThan(0.02);
});

test("beta draws with tiny parameters pile up at both ends and stay finite", () => {
  const random = keyedRandom(0, "tiny beta");
  const x = Array.from({ length: 2000 }, () => random.beta(0.001, 0.001));
  expect(x.every((v) => v >= 0 && v <= 1)).toBe(true);
  const high = x.filter((v) => v > 0.5).length;
  expect(high).toBeGreaterThan(880);
  expect(high).toBeLessThan(1120);
});

test("integer draws are unbiased where a plain remainder would not be", () => {
  // With n = 3·2^30, `uint32 % n` falls below 2^30 half of the time; it should be a third.
  const random = keyedRandom(0, "integer");
  const n = 3 * 2 ** 30;
  const count = 30_000;
  let below = 0;
  for (let i = 0; i < count; i++) if (random.integer(n) < 2 ** 30) below++;
  expect(Math.abs(below / count - 1 / 3)).toBeLessThan(0.014);
});

test("integer draws cover a small range evenly, and ranges above 2^32 to their upper half", () => {
  const random = keyedRandom(0, "dice");
  const counts = new Array<number>(6).fill(0);
  for (let i = 0; i < 60_000; i++) counts[random.integer(6)]++;
  for (const count of counts) expect(Math.abs(count - 10_000)).toBeLessThan(460); // five standard deviations
  const large = Array.from({ length: 1000 }, () => random.integer(2 ** 50));
  expect(large.every((v) => Number.isSafeInteger(v) && v < 2 ** 50)).toBe(true);
  expect(large.filter((v) => v >= 2 ** 49).length).toBeGreaterThan(420);
  expect(random.integer(1)).toBe(0);
});

test("every order of three comes up equally often", () => {
  const random = keyedRandom(0, "orders");
  const counts = new Map<string, number>();
  for (let i = 0; i < 12_000; i++) {
    const order = random.permutation(3).join("");
    counts.set(order, (counts.get(order) ?? 0) + 1);
  }
  expect(counts.size).toBe(6);
  for (const count of counts.values()) expect(Math.abs(count - 2000)).toBeLessThan(205);
});

test("a permutation holds each number once", () => {
  expect([...keyedRandom(0, "all").permutation(1000)].sort((a, b) => a - b)).toEqual(
    Array.from({ length: 1000 }, (_, i) => i),
  );
  expect([...keyedRandom(0, "none").permutation(0)]).toEqual([]);
});

test("wrong arguments are errors, not silent nonsense", () => {
  const random = keyedRandom(0, "errors");
  for (const call of [
    () => keyedRandom(0.5, "x"),
    () => keyedRandom(Number.NaN, "x"),
    () => keyedRandom(0, "x", Number.POSITIVE_INFINITY),
    () => random.integer(0),
    () => random.integer(2.5),
    () => random.integer(2 ** 53),
    () => random.beta(0, 1),
    () => random.bernoulli(1.2),
    () => random.uniform(0, Number.POSITIVE_INFINITY),
    () => random.permutation(-1),
  ])
    expect(call).toThrow(UsageError);
});
