import { expect, test } from "vitest";
import { ones } from "../engine/ops.generated.js";
import { Random, withRandom } from "../engine/random.js";
import { scope } from "../engine/scope.js";
import { StochasticDepth, stochasticDepthRates } from "./stochastic-depth.js";

test("stochastic depth drops whole samples with probability p, scales the rest by 1/(1 − p), and passes gradients the same way", () => {
  scope(() => {
    const x = ones([4000, 2, 3]).requiresGrad_();
    const y = withRandom(new Random(1), () => new StochasticDepth(0.25).forward(x));
    y.sum().backward();
    const samples = y.flatten(1);
    expect(samples.amax([1]).toNumbers()).toEqual(samples.amin([1]).toNumbers());
    const values = samples.select(1, 0).toNumbers();
    expect(new Set(values)).toEqual(new Set([0, Math.fround(4 / 3)]));
    // With 4,000 draws the standard deviation of the share is 0.0068, so 0.03 is more than four standard deviations.
    expect(Math.abs(values.filter((value) => value === 0).length / values.length - 0.25)).toBeLessThan(0.03);
    expect(x.grad!.toNumbers()).toEqual(y.toNumbers());
  });
});

test("in evaluation and with p = 0 stochastic depth is the identity and draws nothing", () => {
  scope(() => {
    const x = ones([3, 2]);
    // Drawing outside withRandom would throw an error.
    expect(new StochasticDepth(0.5).eval().forward(x)).toBe(x);
    expect(new StochasticDepth(0).forward(x)).toBe(x);
    expect(() => new StochasticDepth(0.5).forward(x)).toThrow("stochastic depth draws random numbers");
    expect(withRandom(new Random(1), () => new StochasticDepth(1).forward(x)).toNumbers()).toEqual([0, 0, 0, 0, 0, 0]);
  });
});

test("the samples dropped depend on the seed and on the number of the draw, not on layout or precision", () => {
  scope(() => {
    const draw = (seed: number, x = ones([16, 3, 4, 5])) =>
      withRandom(new Random(seed), () =>
        [new StochasticDepth(0.5), new StochasticDepth(0.5)].map((layer) => layer.forward(x).toNumbers()),
      );
    const [first, second] = draw(1);
    expect(draw(1)).toEqual([first, second]);
    expect(second).not.toEqual(first);
    expect(draw(2)[0]).not.toEqual(first);
    expect(draw(1, ones([16, 3, 4, 5]).to({ memoryFormat: "channels_last" }))).toEqual([first, second]);
    expect(draw(1, ones([16, 3, 4, 5], { dtype: "bfloat16" }))).toEqual([first, second]);
  });
});

test("the probability rises linearly from 0 to the rate, and one outside [0, 1] is an error", () => {
  expect(stochasticDepthRates(0.3, 4)).toEqual([0, 0.09999999999999999, 0.19999999999999998, 0.3]);
  expect(stochasticDepthRates(0.3, 1)).toEqual([0.3]);
  expect(() => new StochasticDepth(-0.1)).toThrow("StochasticDepth: the probability must lie in [0, 1], got -0.1");
});
