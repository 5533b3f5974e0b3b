import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { referenceVectors } from "../../tests/support/reference-vectors.js";
import { UsageError } from "../errors.js";
import { RandomState } from "./mt19937.js";

const digest = (numbers: Uint32Array) => createHash("md5").update(numbers.join(",")).digest("hex");

test("the first words are those of MT19937's authors for their default seed", () => {
  const state = new RandomState(5489);
  expect([state.uint32(), state.uint32(), state.uint32()]).toEqual([3499211612, 581869302, 3890346734]);
});

test("the ten-thousandth word for the default seed is the one the C++ standard fixes", () => {
  const state = new RandomState(5489);
  for (let i = 1; i < 10_000; i++) state.uint32();
  expect(state.uint32()).toBe(4123659995); // [rand.predef]
});

test("RandomState(0) begins with NumPy's doubles", () => {
  const state = new RandomState(0);
  expect([state.double(), state.double(), state.double()]).toEqual([
    0.5488135039273248, 0.7151893663724195, 0.6027633760716439,
  ]);
});

test("shuffles are NumPy's", () => {
  expect([...new RandomState(894182419).permutation(10)]).toEqual([2, 3, 8, 1, 4, 5, 0, 9, 6, 7]);
  expect([...new RandomState(0).permutation(10)]).toEqual([2, 8, 4, 9, 1, 6, 7, 3, 0, 5]);
  const order = new RandomState(894182419).permutation(1415);
  expect([...order.subarray(0, 5)]).toEqual([222, 1032, 864, 859, 1037]);
  expect([...order.subarray(283, 288)]).toEqual([508, 1125, 317, 633, 1149]);
});

test.each(referenceVectors.generator)("seed $seed gives what NumPy gave, draw by draw in one stream", (expected) => {
  const state = new RandomState(expected.seed);
  expect(expected.doubles.map(() => state.double())).toEqual(expected.doubles);
  expect(expected.uniforms.map(() => state.uniform(-5, -3.5))).toEqual(expected.uniforms);
  for (const [n, drawn] of expected.choices) {
    const items = Array.from({ length: n }, (_, i) => i);
    expect(state.choice(items), `choice of ${n}`).toBe(drawn);
  }
  for (let i = 0; i < 1500; i++) state.double();
  expect(state.double()).toBe(expected.later);
  for (const [n, hash] of expected.permutations)
    expect(digest(new RandomState(expected.seed).permutation(n)), `shuffle of ${n}`).toBe(hash);
});

test("a choice of one item draws nothing, so the stream stays where it was", () => {
  const [drawn, untouched] = [new RandomState(3), new RandomState(3)];
  expect(drawn.choice(["only"])).toBe("only");
  expect(drawn.uint32()).toBe(untouched.uint32());
});

test("whole numbers up to 2^32 − 1 are the words themselves", () => {
  const [drawn, words] = [new RandomState(4), new RandomState(4)];
  for (let i = 0; i < 100; i++) expect(drawn.upTo(0xffffffff)).toBe(words.uint32());
});

test("shuffling works on lists of anything and moves nothing in or out", () => {
  const items = ["a", "b", "c", "d", "e"];
  new RandomState(1).shuffle(items);
  expect(items).toEqual([...new RandomState(1).permutation(5)].map((i) => "abcde"[i]));
});

test.each([-1, 0.5, 2 ** 32, Number.NaN])("the seed %s is refused with a clear error", (seed) => {
  expect(() => new RandomState(seed)).toThrow(
    new UsageError(`RandomState: expected an integer from 0 to 2^32 − 1 as seed, got ${seed}`),
  );
});

test("a choice from an empty list is refused", () => {
  expect(() => new RandomState(0).choice([])).toThrow("expected at least one item, got none");
  expect(() => new RandomState(0).upTo(-1)).toThrow(UsageError);
  expect(() => new RandomState(0).permutation(1.5)).toThrow(UsageError);
});
