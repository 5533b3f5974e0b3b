import { expect, test } from "vitest";
import { isWhole, moved, within, zoomed } from "./zoom.js";

const whole = { from: 0, to: 100 };

test("zooming keeps the point under the cursor where it is", () => {
  const view = zoomed(whole, whole, 0.5, 20);
  expect(view).toEqual({ from: 10, to: 60 }); // 20 lay at a fifth of the width, and still does
  expect(zoomed(view, whole, 0.5, 60)).toEqual({ from: 35, to: 60 });
});

test("zooming out and moving stop at the data's edges", () => {
  expect(zoomed({ from: 10, to: 60 }, whole, 10, 50)).toEqual(whole);
  expect(isWhole(zoomed({ from: 10, to: 60 }, whole, 10, 50), whole)).toBe(true);
  expect(moved({ from: 10, to: 60 }, whole, -0.5)).toEqual({ from: 0, to: 50 });
  expect(moved({ from: 10, to: 60 }, whole, 3)).toEqual({ from: 50, to: 100 });
});

test("a range is never narrower than a thousandth, and never outside the data when they shrink", () => {
  const narrow = zoomed(whole, whole, 1e-9, 30);
  expect(narrow.to - narrow.from).toBeCloseTo(0.1, 12);
  expect(within({ from: 80, to: 120 }, { from: 0, to: 50 })).toEqual({ from: 10, to: 50 });
  expect(within({ from: 80, to: 180 }, { from: 0, to: 50 })).toEqual({ from: 0, to: 50 });
});
