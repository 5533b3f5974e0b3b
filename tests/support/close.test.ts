import { expect, test } from "vitest";
import { scope } from "../../src/engine/scope.js";
import { tensor } from "../../src/engine/tensor.js";
import { expectClose } from "./close.js";

test("expectClose reports the worst element and its error", () => {
  scope(() => {
    const actual = tensor([
      [1, 2.5],
      [3, 9],
    ]);
    const expected = [
      [1, 2],
      [3, 4],
    ];
    expect(() => expectClose(actual, expected, { atol: 0.1, what: "weights" })).toThrow(
      /weights: 2 of 4 elements differ; the worst is \[1, 1\]: expected 4, got 9 \(difference 5\.00e\+0, allowed 1\.00e-1/,
    );
    expectClose(actual, expected, { atol: 5 });
    expectClose(actual, [1, 2.5, 3, 9], {});
  });
});

test("expectClose accepts a NaN or an infinity only if both values have it", () => {
  const { NaN: nan, POSITIVE_INFINITY: infinity } = Number;
  expectClose([nan, infinity], [nan, infinity], {});
  expect(() => expectClose([1, nan], [1, 1], { atol: 1e9 })).toThrow("[1]: expected 1, got NaN");
  expect(() => expectClose([1, 1], [1, nan], { atol: 1e9 })).toThrow("[1]: expected NaN, got 1");
  expect(() => expectClose([infinity], [-infinity], { rtol: 1 })).toThrow("got Infinity");
  expect(() => expectClose([infinity], [1], { atol: 1e9 })).toThrow("got Infinity");
});

test("expectClose refuses another shape", () => {
  expect(() => expectClose([[1], [2]], [[1, 2]], {})).toThrow("expected the shape [1, 2], got [2, 1]");
  expect(() => expectClose([1, 2], [1, 2, 3], {})).toThrow("expected the shape [3], got [2]");
});
