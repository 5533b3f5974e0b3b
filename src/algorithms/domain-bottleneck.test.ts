import { expect, test } from "vitest";
import { scope } from "../engine/scope.js";
import { grad, tensor } from "../engine/tensor.js";
import { domainBottleneck } from "./domain-bottleneck.js";

const Z = [
  [1, 0],
  [0.5, 0.5],
  [0, 1],
  [0.8, 0.2],
];

const measure = (labels: number[], domains: number[], options: { conditional: boolean; flip: boolean }) =>
  scope(() => {
    const z = tensor(Z, { dtype: "float64" }).requiresGrad_();
    const [y, d] = [labels, domains].map((each) => tensor(each, { dtype: "int64" }));
    const value = domainBottleneck(z, y, d, { temperature: 0.1, normalize: false, selfTerm: true, ...options });
    return { value: value.item(), gradient: grad(value, [z])[0].toNumbers() };
  });

// These numbers were computed with DomainBed.
test.each([
  { conditional: false, flip: true, labels: [0, 0, 1, 1], value: 0.1645187758 },
  { conditional: false, flip: true, labels: [0, 0, 0, 1], value: 0.196277378 },
  { conditional: false, flip: false, labels: [0, 0, 1, 1], value: -5.6620446725 },
  { conditional: false, flip: false, labels: [0, 0, 0, 1], value: -6.0997593657 },
  { conditional: true, flip: true, labels: [0, 0, 1, 1], value: 0 },
  { conditional: true, flip: true, labels: [0, 0, 0, 1], value: 0.00639557 },
  { conditional: true, flip: false, labels: [0, 0, 1, 1], value: 0 },
  { conditional: true, flip: false, labels: [0, 0, 0, 1], value: -7.1524504978 },
])("labels $labels, conditional $conditional, flipped $flip: $value", ({ labels, value, ...options }) => {
  expect(measure(labels, [0, 1, 0, 1], options).value).toBeCloseTo(value, 9);
});

test("with one domain there is no contrast, and no gradient is NaN", () => {
  const { value, gradient } = measure([0, 0, 1, 1], [0, 0, 0, 0], { conditional: false, flip: true });
  expect(Math.abs(value)).toBe(0);
  expect(gradient.map(Math.abs)).toEqual(new Array(8).fill(0));
});
