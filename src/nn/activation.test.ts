import { expect, test } from "vitest";
import { expectClose } from "../../tests/support/close.js";
import type { DType } from "../engine/dtype.js";
import { scope } from "../engine/scope.js";
import { grad, tensor } from "../engine/tensor.js";
import { GELU, Hardswish, ReLU, ReLU6, SiLU, silu } from "./activation.js";

const DTYPES: readonly DType[] = ["float32", "float64", "bfloat16"];

for (const dtype of DTYPES) {
  test.each([true, false])(
    `ReLU and ReLU6 cut in ${dtype}, and pass gradients where they do not (in place: %s)`,
    (inPlace) => {
      scope(() => {
        const run = (layer: ReLU | ReLU6) => {
          const x = tensor([-2, -0.5, 0, 0.5, 5, 7]).toDType(dtype).requiresGrad_();
          const input = x.mul(1); // a leaf that requires a gradient cannot be modified in place
          const y = layer.forward(input);
          y.backward({ gradient: tensor([1, 2, 3, 4, 5, 6]).toDType(dtype) });
          const untouched = input.toNumbers()[0] === -2;
          return { y: y.toNumbers(), gradient: x.grad!.toNumbers(), untouched };
        };
        const untouched = !inPlace;
        expect(run(new ReLU({ inPlace }))).toEqual({
          y: [0, 0, 0, 0.5, 5, 7],
          gradient: [0, 0, 0, 4, 5, 6],
          untouched,
        });
        expect(run(new ReLU6({ inPlace }))).toEqual({
          y: [0, 0, 0, 0.5, 5, 6],
          gradient: [0, 0, 0, 4, 5, 0],
          untouched,
        });
      });
    },
  );
}

test("GELU: exact is x·Φ(x), quick is x·sigmoid(1.702·x), tanh lies within 5e-4 of exact", () => {
  scope(() => {
    const x = tensor([-1, 0, 0.5, 2], { dtype: "float64" });
    const of = (kind: "exact" | "tanh" | "quick") => new GELU({ kind }).forward(x).toNumbers();
    // Φ(−1), Φ(0.5), Φ(2) from tables of the normal distribution.
    const exact = [-0.15865525393145705, 0, 0.5 * 0.6914624612740131, 2 * 0.9772498680518208];
    for (const [i, value] of of("exact").entries()) expect(value).toBeCloseTo(exact[i], 12);
    for (const [i, value] of of("tanh").entries()) expect(Math.abs(value - exact[i])).toBeLessThan(5e-4);
    expect(of("tanh")).not.toEqual(of("exact"));
    for (const [i, value] of of("quick").entries())
      expect(value).toBeCloseTo([-1, 0, 0.5, 2][i] / (1 + Math.exp(-1.702 * [-1, 0, 0.5, 2][i])), 12);
  });
});

test("SiLU and hard-swish and their gradients are their formulas, and SiLU in place where nothing needs its input", () => {
  scope(() => {
    const points = [-5, -3.1, -1.5, -0.2, 0.4, 1, 2.9, 3.5];
    const make = () => tensor(points, { dtype: "float64" });
    const sigmoid = (x: number) => 1 / (1 + Math.exp(-x));
    const swish = (x: number) => x * sigmoid(x);
    const hard = (x: number) => (x * Math.min(Math.max(x + 3, 0), 6)) / 6;
    for (const [layer, value, slope] of [
      [new SiLU(), swish, (x: number) => sigmoid(x) * (1 + x * (1 - sigmoid(x)))],
      [new Hardswish(), hard, (x: number) => (x <= -3 ? 0 : x >= 3 ? 1 : (2 * x + 3) / 6)],
    ] as const) {
      const x = make().requiresGrad_();
      const y = layer.forward(x);
      expectClose(y, points.map(value), { rtol: 1e-12, atol: 1e-14 });
      expectClose(grad(y.sum(), [x])[0], points.map(slope), { rtol: 1e-12, atol: 1e-14 });
    }
    const plain = make();
    expect(silu(plain)).toBe(plain);
    expectClose(plain, points.map(swish), { rtol: 1e-12 });
    const kept = make().requiresGrad_();
    expectClose(silu(kept), plain, { rtol: 1e-12 });
    expect(kept.toNumbers()).toEqual(points);
  });
});
