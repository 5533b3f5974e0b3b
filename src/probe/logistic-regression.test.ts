import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { expectClose } from "../../tests/support/close.js";
import { openWeights } from "../engine/open-weights.js";
import { scope } from "../engine/scope.js";
import { tensor } from "../engine/tensor.js";
import { readWeights } from "../engine/weights.js";
import { UsageError } from "../errors.js";
import { balancedWeights, fitLogistic } from "./logistic-regression.js";

const VECTORS = fileURLToPath(new URL("../../tests/vectors/logistic_regression.safetensors", import.meta.url));

function stored<T>(key: string): T {
  using file = openWeights(VECTORS);
  return JSON.parse(file.metadata[key]) as T;
}
const strengths = stored<number[]>("strengths");

for (const [name, { classes, weights }] of Object.entries(
  stored<Record<string, { classes: number; weights?: number[] }>>("cases"),
))
  test(`${name}: the answer is PyTorch's and scikit-learn's`, () => {
    scope(() => {
      const vectors = readWeights(VECTORS);
      const labels = vectors.get(`${name}/y`)!.toNumbers();
      const fits = fitLogistic(vectors.get(`${name}/x`)!, labels, {
        ...{ classes, strengths, classWeights: weights, tolerance: 1e-12 },
      });
      for (const [i, c] of strengths.entries()) {
        const of = (what: string) => vectors.get(`${name}/${c}/${what}`)!;
        expectClose(fits[i].weight, of("weight"), { rtol: 1e-6, atol: 1e-8, what: `weights at C = ${c}` });
        expectClose(fits[i].bias, of("bias"), { rtol: 1e-6, atol: 1e-6, what: `intercepts at C = ${c}` });
        // scikit-learn stops earlier where the penalty is weak: at C = 10 it is up to 2e-3 from the answer.
        expectClose(fits[i].weight, of("sklearn.weight"), { atol: c > 1 ? 3e-3 : 1e-4, what: "scikit-learn's" });
        expect(fits[i].objective).toBeCloseTo(of("objective").item(), 7);
        expect(fits[i].gradient).toBeLessThan(1e-9);
      }
    });
  });

test("a strength's answer does not depend on which others are solved before it", () => {
  scope(() => {
    const vectors = readWeights(VECTORS);
    const [x, y] = [vectors.get("tall/x")!, vectors.get("tall/y")!.toNumbers()];
    const [alone] = fitLogistic(x, y, { classes: 3, strengths: [10], tolerance: 1e-11 });
    const [, after] = fitLogistic(x, y, { classes: 3, strengths: [0.001, 10], tolerance: 1e-11 });
    expectClose(after.weight, alone.weight, { rtol: 1e-6, atol: 1e-8 });
  });
});

test("two samples of two classes on one feature: the answer by hand", () => {
  scope(() => {
    // z = ±1, so the margin m = w₁ − w₀ minimises 2·C·log(1 + exp(−m)) + m²/4: m = 4·C / (1 + exp(m)).
    const [{ weight, bias }] = fitLogistic(tensor([[3], [5]]), [0, 1], {
      classes: 2,
      strengths: [1],
      tolerance: 1e-12,
    });
    const [w0, w1] = weight.toNumbers();
    const margin = w1 - w0;
    expect(margin).toBeCloseTo(4 / (1 + Math.exp(margin)), 8);
    expect(bias.toNumbers()[1] - bias.toNumbers()[0]).toBeCloseTo(-4 * margin, 8); // the border lies at 4
  });
});

test("features that never change are classified by how frequent the classes are", () => {
  scope(() => {
    const [{ weight, bias }] = fitLogistic(tensor([[2], [2], [2]]), [0, 0, 1], { classes: 2, strengths: [1] });
    expectClose(weight, [0, 0], { atol: 1e-12 });
    const [a, b] = bias.toNumbers();
    expect(a - b).toBeCloseTo(Math.log(2), 6);
  });
});

test("balanced weights make every class that there is count the same", () => {
  expect(balancedWeights([0, 0, 0, 2], 3)).toEqual([4 / 6, 0, 2]);
});

test("a strength that is no positive number and labels that are too few are errors", () => {
  expect(() => fitLogistic(tensor([[1], [2]]), [0, 1], { classes: 2, strengths: [0] })).toThrow(UsageError);
  expect(() => fitLogistic(tensor([[1], [2]]), [0], { classes: 2, strengths: [1] })).toThrow("2 features and 1 labels");
});
