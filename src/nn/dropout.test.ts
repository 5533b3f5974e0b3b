import { expect, test } from "vitest";
import { ones } from "../engine/ops.generated.js";
import { Random, withRandom } from "../engine/random.js";
import { scope } from "../engine/scope.js";
import { Dropout } from "./dropout.js";

test("dropout zeroes about p of the numbers, scales the rest by 1/(1 − p), and passes gradients the same way", () => {
  scope(() => {
    const x = ones([100, 100]).requiresGrad_();
    const y = withRandom(new Random(1), () => new Dropout(0.25).forward(x));
    y.sum().backward();
    const values = y.toNumbers();
    expect(new Set(values)).toEqual(new Set([0, Math.fround(4 / 3)]));
    // With 10,000 draws the standard deviation of the share is 0.0043, so 0.02 is more than four standard deviations.
    expect(values.filter((value) => value === 0).length / values.length).toBeCloseTo(0.25, 1.7);
    expect(x.grad!.toNumbers()).toEqual(values);
  });
});

test("in evaluation and with p = 0 dropout is the identity and draws nothing", () => {
  scope(() => {
    const x = ones([3]);
    // Drawing outside withRandom would throw an error.
    expect(new Dropout(0.5).eval().forward(x)).toBe(x);
    expect(new Dropout(0).forward(x)).toBe(x);
    expect(() => new Dropout(0.5).forward(x)).toThrow("dropout draws random numbers");
  });
});

test("with p = 1 nothing is left, and no NaN", () => {
  scope(() => {
    expect(withRandom(new Random(1), () => new Dropout(1).forward(ones([3]))).toNumbers()).toEqual([0, 0, 0]);
  });
});

test("the mask depends on the seed and on the number of the draw, not on layout or precision", () => {
  scope(() => {
    const draw = (seed: number, x = ones([2, 3, 4, 5])) =>
      withRandom(new Random(seed), () =>
        [new Dropout(0.5), new Dropout(0.5)].map((layer) => layer.forward(x).toNumbers()),
      );
    const [first, second] = draw(1);
    expect(draw(1)).toEqual([first, second]);
    expect(second).not.toEqual(first);
    expect(draw(2)[0]).not.toEqual(first);
    expect(draw(1, ones([2, 3, 4, 5]).to({ memoryFormat: "channels_last" }))).toEqual([first, second]);
    expect(draw(1, ones([2, 3, 4, 5], { dtype: "bfloat16" }))).toEqual([first, second]);
  });
});

test("a probability outside [0, 1] is an error", () => {
  expect(() => new Dropout(1.5)).toThrow("Dropout: the probability must lie in [0, 1], got 1.5");
  expect(() => new Dropout(Number.NaN)).toThrow("got NaN");
});
