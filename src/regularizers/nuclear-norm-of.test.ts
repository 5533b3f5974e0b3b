import { describe, expect, test } from "vitest";
import { expectClose } from "../../tests/support/close.js";
import { fallingSigmas, matrixWith, normalMatrix } from "../../tests/support/matrices.js";
import { linalgSvdvals } from "../engine/ops.generated.js";
import { scope } from "../engine/scope.js";
import { type Tensor, tensor } from "../engine/tensor.js";
import { nuclearNormOf } from "./nuclear-norm-of.js";
import { polarRoutes } from "./polar.js";

/** Approximates the gradient of the exact nuclear norm with central differences. */
function differences(matrix: Tensor, step: number): number[] {
  const values = matrix.toNumbers();
  const norm = (shifted: number[]): number =>
    scope(() =>
      linalgSvdvals(tensor(Float64Array.from(shifted), { shape: matrix.shape }))
        .sum()
        .item(),
    );
  return values.map((value, i) => {
    const at = (x: number): number => norm(values.with(i, x));
    return (at(value + step) - at(value - step)) / (2 * step);
  });
}

describe.each(polarRoutes)("by the %s route", (route) => {
  const shapes = { "n < d": [4, 11], "n > d": [11, 4], "n = d": [6, 6], "n = 1": [1, 7] } as const;

  test.each(Object.entries(shapes))("the gradient is that of finite differences where %s", (_, shape) =>
    scope(() => {
      for (const condition of [1, 100, 1e4]) {
        const sigmas = fallingSigmas(Math.min(...shape), condition);
        const { matrix } = matrixWith(sigmas, shape);
        const leaf = matrix.clone().requiresGrad_();
        nuclearNormOf(leaf, { route }).backward();
        // The curvature depends on the smallest singular value, so the step is a hundredth of it.
        const step = 1e-2 * Math.min(...sigmas);
        expectClose(leaf.grad!, differences(matrix, step), { atol: 1e-4, what: `condition ${condition}` });
      }
    }),
  );

  test("the reference's example has its value and gradient", () =>
    scope(() => {
      const features = tensor([[1, 2, 3], [4, 5, 6]]).requiresGrad_(); // biome-ignore format: a matrix
      const norm = nuclearNormOf(features, { route });
      norm.backward();
      expectClose([norm.item()], [10.280902], { atol: 1e-5 });
      const expected = [[-0.577792, 0.115117, 0.808025], [0.706746, 0.565757, 0.424769]]; // biome-ignore format: a matrix
      expectClose(features.grad!, expected, { atol: 2e-6 });
    }));

  test("bf16 features get a bf16 gradient, and the value is a float32", () =>
    scope(() => {
      const leaf = normalMatrix(6, 20).to({ dtype: "bfloat16" }).detach().requiresGrad_();
      const norm = nuclearNormOf(leaf, { route });
      norm.backward();
      const exact = linalgSvdvals(leaf.detach().to({ dtype: "float64" }))
        .sum()
        .item();
      expect([norm.dtype, leaf.grad!.dtype]).toEqual(["float32", "bfloat16"]);
      expectClose([norm.item()], [exact], { rtol: 1e-6 });
    }));
});

test("the value counts the singular values that are too small for a gradient", () =>
  scope(() => {
    const { matrix } = matrixWith([1, 0.5, 2e-6, 1e-6], [4, 9]);
    const leaf = matrix.to({ dtype: "float32" }).detach().requiresGrad_();
    const norm = nuclearNormOf(leaf, { route: "gram" });
    norm.backward();
    expectClose([norm.item()], [1.500003], { atol: 2e-7 });
    expectClose([leaf.grad!.norm().item() ** 2], [2], { rtol: 1e-5 }); // two directions of norm 1, not four
  }));
