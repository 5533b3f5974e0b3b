import { test } from "vitest";
import { expectClose } from "../../tests/support/close.js";
import { scope } from "../engine/scope.js";
import { tensor } from "../engine/tensor.js";
import { agreed } from "./and-mask.js";

// biome-ignore format: a row a domain
const gradients = [[1, -1, 2], [2, 1, 3], [3, -2, -1]];
const float64 = (values: number[]) => tensor(values, { dtype: "float64" });

test("where all signs agree the mean gradient stays, scaled by how few such places there are", () => {
  scope(() => expectClose(agreed(gradients.map(float64), 1), [6, 0, 0], { rtol: 1e-9 }));
});

test("a lower tau lets two of three decide", () => {
  scope(() => expectClose(agreed(gradients.map(float64), 1 / 3), [2, -2 / 3, 4 / 3], { rtol: 1e-9 }));
});

test("where no signs agree the gradient is 0", () => {
  scope(() => expectClose(agreed([float64([1, -1]), float64([-1, 1])], 1), [0, 0], {}));
});

test("a gradient of 0 has no sign and agrees with none", () => {
  scope(() => expectClose(agreed([float64([0, 2]), float64([1, 4])], 1), [0, 6], { rtol: 1e-9 }));
});
