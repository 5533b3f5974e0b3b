import { expect, test } from "vitest";
import { EngineError, UsageError } from "../errors.js";
import { empty, zeros } from "./ops.generated.js";
import { currentRandom, Random, RandomGenerator, withRandom } from "./random.js";
import { scope } from "./scope.js";
import { tensor } from "./tensor.js";

/** Draws eight normal numbers. */
const draw = (random: Random): number[] => scope(() => random.normal_(empty([8])).toNumbers());

test("the same seed and purpose give the same numbers, others give others", () => {
  const here = draw(new Random(1).for("weights", 3));
  expect(draw(new Random(1).for("weights", 3))).toEqual(here);
  expect(draw(new Random(1).for("weights").for(3))).toEqual(here);
  expect(draw(new Random(1, ["weights", 3]))).toEqual(here);
  const others = [
    new Random(2).for("weights", 3),
    new Random(1).for("weights", 4),
    new Random(1).for("weights", "3"),
    new Random(1).for("weights3"),
    new Random(1).for("weights", 3, 0),
    new Random(-1).for("weights", 3),
    new Random(1),
  ].map(draw);
  for (const [i, other] of others.entries()) {
    expect(other).not.toEqual(here);
    for (const later of others.slice(i + 1)) expect(other).not.toEqual(later);
  }
});

test("a draw does not depend on what was drawn before it", () => {
  const random = new Random(7);
  const alone = draw(random.for("b"));
  draw(random.for("a"));
  random.for("a").host().uniform();
  expect(draw(random.for("b"))).toEqual(alone);
  expect(draw(random.for("b"))).toEqual(alone);
});

test("next counts the uses of each purpose by itself", () => {
  const random = new Random(7).for("step", 5);
  const [first, mask, second] = [random.next("dropout"), random.next("mask"), random.next("dropout")];
  expect(first.purpose).toEqual(["step", 5, "dropout", 0]);
  expect(mask.purpose).toEqual(["step", 5, "mask", 0]);
  expect(second.purpose).toEqual(["step", 5, "dropout", 1]);
  // A new Random starts counting from zero, so repeating a step gives the same draws.
  expect(draw(new Random(7).for("step", 5).next("dropout"))).toEqual(draw(first));
});

test("the numbers on the host are keyed in the same way, and differ from the tensors'", () => {
  const numbers = (random: Random) => Array.from({ length: 4 }, () => random.host().uniform());
  const random = new Random(1).for("split");
  expect(new Set(numbers(random)).size).toBe(1); // each host() starts at the beginning
  expect(numbers(random)).toEqual(numbers(new Random(1, ["split"])));
  expect(numbers(random)).not.toEqual(numbers(new Random(1, ["other"])));
});

test("the pinned numbers of a key never change: runs of old must be repeatable", () => {
  scope(() => {
    const numbers = new Random(0)
      .for("pinned")
      .uniform_(empty([3], { dtype: "float64" }))
      .toNumbers();
    expect(numbers).toEqual([0.49535155563955025, 0.23221884717538976, 0.9413264083087511]);
  });
});

test("tensors are filled with the requested distributions", () => {
  scope(() => {
    const random = new Random(3);
    const uniform = random.for("u").uniform_(empty([10_000]), 2, 4);
    expect(uniform.min().item()).toBeGreaterThanOrEqual(2);
    expect(uniform.max().item()).toBeLessThan(4);
    expect(Math.abs(uniform.mean().item() - 3)).toBeLessThan(0.03); // 5 standard errors
    const normal = random.for("n").normal_(empty([10_000]), 1, 2);
    expect(Math.abs(normal.mean().item() - 1)).toBeLessThan(0.1);
    expect(Math.abs(Math.sqrt(normal.variance().item()) - 2)).toBeLessThan(0.1);
    const coin = random.for("b").bernoulli_(zeros([10_000]), 0.25);
    expect(Math.abs(coin.mean().item() - 0.25)).toBeLessThan(0.025);
    expect(new Set(coin.toNumbers())).toEqual(new Set([0, 1]));
  });
});

test("filling returns the tensor itself", () => {
  scope(() => {
    const x = tensor([5, 5]);
    expect(new Random(1).uniform_(x)).toBe(x);
  });
});

test("a generator goes on, and is an error once disposed of", () => {
  scope(() => {
    const generator = new RandomGenerator("cpu", 5);
    const first = empty([4]).uniform_(0, 1, { generator }).toNumbers();
    expect(empty([4]).uniform_(0, 1, { generator }).toNumbers()).not.toEqual(first);
    generator.dispose();
    generator.dispose();
    // Its index may be reused by another generator, from which it must not draw.
    using other = new RandomGenerator("cpu", 6);
    expect(() => empty([4]).uniform_(0, 1, { generator })).toThrow(EngineError);
    expect(empty([4]).uniform_(0, 1, { generator: other }).toNumbers()).not.toEqual(first);
  });
});

test("a seed is an integer; a generator's device is one there is", () => {
  expect(() => new Random(0.5)).toThrow(UsageError);
  expect(() => new Random(Number.NaN)).toThrow("a seed is an integer, got NaN");
  expect(() => new RandomGenerator("gpu", 1)).toThrow("expected a device");
  expect(() => new RandomGenerator("meta", 1)).toThrow(EngineError);
  expect(() => new RandomGenerator("cpu", 0.5)).toThrow("seed: expected an integer");
});

test("layers draw from the current random source, and without one they throw", () => {
  expect(() => currentRandom("Dropout")).toThrow("Dropout draws random numbers: run it inside withRandom");
  const [outer, inner] = [new Random(1), new Random(2)];
  const seen = withRandom(outer, () => {
    expect(() =>
      withRandom(inner, () => {
        expect(currentRandom("x")).toBe(inner);
        throw new Error("inside");
      }),
    ).toThrow("inside");
    return currentRandom("x");
  });
  expect(seen).toBe(outer);
  expect(() => withRandom(outer, async () => 1)).toThrow("withRandom: the body is async");
  expect(() => currentRandom("x")).toThrow(UsageError);
});
