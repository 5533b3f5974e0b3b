import { expect, test } from "vitest";
import { scope } from "../engine/scope.js";
import { grad, tensor } from "../engine/tensor.js";
import { riskQuantile } from "./eqrm.js";

const at = (values: number[], alpha: number, gradient: "interpolated" | "implicit") =>
  scope(() => {
    const risks = tensor(values, { dtype: "float64" }).requiresGrad_();
    const value = riskQuantile(risks, alpha, gradient);
    return { value: value.item(), gradient: grad(value, [risks])[0].toNumbers() };
  });

// Values and gradients were computed with DomainBed's bisection.
test.each([
  { risks: [0.5, 1, 2], alpha: 0.75, value: 1.8028877, gradient: [0.1731553, -0.0626206, 0.8894653] },
  { risks: [0.5, 1, 2], alpha: 0.9, value: 2.376856, gradient: [-0.1719166, -0.1189811, 1.2908977] },
  {
    risks: [0.2, 0.4, 0.9, 1.1],
    alpha: 0.75,
    value: 1.0182427,
    gradient: [0.1505227, -0.1074263, 0.1074263, 0.8494773],
  },
])("the $alpha quantile of $risks is DomainBed's, and so is its gradient", ({ risks, alpha, value, gradient }) => {
  const found = at(risks, alpha, "interpolated");
  expect(found.value).toBeCloseTo(value, 6);
  for (const [i, each] of found.gradient.entries()) expect(each).toBeCloseTo(gradient[i], 6);
});

test("the implicit gradient is that of the quantile, by differences", () => {
  const risks = [0.5, 1, 2];
  const { gradient } = at(risks, 0.75, "implicit");
  for (const [i, each] of gradient.entries()) {
    const moved = (by: number) =>
      at(
        risks.map((risk, j) => (i === j ? risk + by : risk)),
        0.75,
        "implicit",
      ).value;
    expect(each).toBeCloseTo((moved(1e-4) - moved(-1e-4)) / 2e-4, 5);
  }
});

test("equal losses have that loss as their quantile, and finite gradients", () => {
  const { value, gradient } = at([1, 1, 1], 0.75, "interpolated");
  expect(value).toBeCloseTo(1, 9);
  expect(gradient.every(Number.isFinite)).toBe(true);
});

test("a negative alpha is the logarithm of the probability above the quantile", () => {
  const { value } = at([0.5, 1, 2], -2, "interpolated");
  expect(value).toBeCloseTo(3.5 / 3 + 0.6498902 * 2, 6);
});
