import { expect, test } from "vitest";
import { scope } from "../engine/scope.js";
import { tensor } from "../engine/tensor.js";
import { contrast, pairsOf } from "./adrmx.js";
import type { Draws } from "./draws.js";

const ROWS = [
  [1, 0],
  [0.6, 0.8],
  [0, 1],
  [0.8, -0.6],
];

test.each([
  [[0, 0, 1, 1], 5.7702129322],
  [[0, 0, 0, 1], 3.4329518769],
])("the contrastive loss of labels %j is DomainBed's", (labels, value) => {
  scope(() => {
    const loss = contrast(tensor(ROWS, { dtype: "float64" }), tensor(labels, { dtype: "int64" }));
    expect(loss.item()).toBeCloseTo(value, 9);
  });
});

test("remixed pairs are places in the batch, or two samples of the class from two domains", () => {
  const draw = {
    permutation: (_: string, n: number) => Array.from({ length: n }, (_, i) => n - 1 - i),
  } as Partial<Draws> as Draws;
  const pairs = (remix: "positions" | "same-class") => pairsOf([0, 1, 1, 0], [0, 0, 1, 1], { classes: 3, remix, draw });
  expect(pairs("positions")).toEqual([
    [1, 0],
    [1, 0],
  ]);
  expect(pairs("same-class")).toEqual([
    [3, 0],
    [2, 1],
  ]);
});
