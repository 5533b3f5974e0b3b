import { expect, test } from "vitest";
import { paperTask, type Sample, sampleTask } from "../../data/toy-task.js";
import { keyedRandom } from "../../engine/philox.js";
import { decompose, type Matrix, matrix, multiply, transpose } from "./matrix.js";
import { featurePenalty, inputFactors, nuclearNorm } from "./penalty.js";

const features = (sample: Sample, a: Matrix): Matrix => multiply(matrix(sample.n, sample.d, sample.x), transpose(a));

function randomMap(d: number, seed: number): Matrix {
  const random = keyedRandom(seed, "penalty test");
  return matrix(
    d,
    d,
    Array.from({ length: d * d }, () => random.normal()),
  );
}

// The two vectors of reference/algorithms.md, Section 6.6.
test("the nuclear norm and its gradient have the reference's values", () => {
  expect(nuclearNorm(matrix(2, 3, [3, 0, 0, 0, 4, 0])).value).toBeCloseTo(7, 12);
  const { value, gradient } = nuclearNorm(matrix(2, 3, [1, 2, 3, 4, 5, 6]));
  expect(value).toBeCloseTo(10.280902, 6);
  const expected = [-0.577792, 0.115117, 0.808025, 0.706746, 0.565757, 0.424769];
  gradient.data.forEach((entry, i) => {
    expect(Math.abs(entry - expected[i])).toBeLessThan(1e-6);
  });
});

test("the penalties of a map are those of its features, formed point by point", () => {
  const sample = sampleTask({ ...paperTask, environmental: 2 }, 30, "in", 0);
  const a = randomMap(3, 1);
  const f = features(sample, a);
  const inputs = inputFactors(sample);
  expect(featurePenalty("nuclear-norm", a, inputs).value).toBeCloseTo(nuclearNorm(f).value, 12);
  expect(featurePenalty("frobenius-norm", a, inputs).value).toBeCloseTo(Math.hypot(...f.data), 12);
  const means = [0, 1, 2].map((j) => f.data.reduce((sum, value, i) => sum + (i % 3 === j ? value : 0), 0) / 30);
  const centred = { ...f, data: f.data.map((value, i) => value - means[i % 3]) };
  expect(featurePenalty("centred-nuclear-norm", a, inputs).value).toBeCloseTo(nuclearNorm(centred).value, 12);
});

test.each(["nuclear-norm", "frobenius-norm", "centred-nuclear-norm"] as const)(
  "the gradient of the %s agrees with central differences",
  (name) => {
    for (const environmental of [1, 3]) {
      const sample = sampleTask({ ...paperTask, environmental }, 25, "in", 3);
      const a = randomMap(sample.d, 4);
      const inputs = inputFactors(sample);
      const { gradient } = featurePenalty(name, a, inputs);
      const h = 1e-6;
      a.data.forEach((_, i) => {
        const at = (shift: number) =>
          featurePenalty(name, { ...a, data: a.data.with(i, a.data[i] + shift) }, inputs).value;
        expect(Math.abs((at(h) - at(-h)) / (2 * h) - gradient.data[i])).toBeLessThan(1e-7);
      });
    }
  },
);

test("‖F‖_* of two columns is √(trace + 2√det) of their Gram matrix", () => {
  const sample = sampleTask(paperTask, 50, "in", 5);
  const a = randomMap(2, 6);
  const [p, q, , s] = multiply(transpose(features(sample, a)), features(sample, a)).data;
  const closedForm = Math.sqrt(p + s + 2 * Math.sqrt(p * s - q * q));
  expect(featurePenalty("nuclear-norm", a, inputFactors(sample)).value).toBeCloseTo(closedForm, 11);
});

test("with a diagonal map and orthogonal inputs the nuclear norm is a weighted ℓ1 norm, kink and all", () => {
  // Columns (3, 4, 0) and (0, 0, 2) are orthogonal, of lengths 5 and 2: ‖X·diag(a)‖_* = 5|a₁| + 2|a₂|.
  const inputs = inputFactors({ x: Float64Array.of(3, 0, 4, 0, 0, 2), y: Int8Array.of(1, 1, 1), n: 3, d: 2 });
  for (const [a1, a2] of [
    [1, 1],
    [-2, 0.5],
    [0.3, -7],
    [1.5, 0],
  ]) {
    const { value, gradient } = featurePenalty("nuclear-norm", matrix(2, 2, [a1, 0, 0, a2]), inputs);
    expect(value).toBeCloseTo(5 * Math.abs(a1) + 2 * Math.abs(a2), 12);
    expect(gradient.data[0]).toBeCloseTo(5 * Math.sign(a1), 12);
    expect(gradient.data[3]).toBeCloseTo(2 * Math.sign(a2), 12); // zero at the kink, which is the subgradient below the cutoff
  }
});

test("with a diagonal map on the task itself it lies between 0.977 and 1 times the ℓ1 norm, squared, by the inputs' correlation", () => {
  const sample = sampleTask(paperTask, 400, "in", 7);
  const inputs = inputFactors(sample);
  const [s11, s12, , s22] = multiply(transpose(inputs.plain), inputs.plain).data;
  const loss = 1 - Math.sqrt(1 - s12 ** 2 / (s11 * s22)); // 1 − √(1 − ρ²)
  for (const [a1, a2] of [
    [1, 1],
    [1, -0.2],
    [-0.7, 3],
    [1, 0],
  ]) {
    const [l1, l2] = [Math.abs(a1) * Math.sqrt(s11), Math.abs(a2) * Math.sqrt(s22)];
    const { value } = featurePenalty("nuclear-norm", matrix(2, 2, [a1, 0, 0, a2]), inputs);
    expect(value ** 2).toBeCloseTo((l1 + l2) ** 2 - 2 * l1 * l2 * loss, 9);
    expect(value / (l1 + l2)).toBeGreaterThan(0.98);
    expect(value / (l1 + l2)).toBeLessThanOrEqual(1 + 1e-12);
  }
});

test("for features of rank one the nuclear and the Frobenius norm are the same, and so are their gradients along them", () => {
  const sample = sampleTask(paperTask, 20, "in", 8);
  const inputs = inputFactors(sample);
  const a = matrix(2, 2, [0.6 * 1, 0.6 * 0.3, -0.8 * 1, -0.8 * 0.3]); // (0.6, −0.8)ᵀ·(1, 0.3)
  const [nuclear, frobenius] = (["nuclear-norm", "frobenius-norm"] as const).map((name) =>
    featurePenalty(name, a, inputs),
  );
  expect(nuclear.value).toBeCloseTo(frobenius.value, 12);
  nuclear.gradient.data.forEach((entry, i) => {
    expect(Math.abs(entry - frobenius.gradient.data[i])).toBeLessThan(1e-10);
  });
});

test("singular values at rounding level get no gradient, and the zero map none at all", () => {
  const { gradient } = nuclearNorm(matrix(3, 2, [1, 1e-17, 0, 1e-17, 0, 0]));
  const { sigma } = decompose(gradient);
  expect(sigma[0]).toBeCloseTo(1, 12);
  expect(sigma[1]).toBe(0);
  const inputs = inputFactors(sampleTask(paperTask, 5, "in", 0));
  for (const name of ["nuclear-norm", "frobenius-norm", "centred-nuclear-norm"] as const) {
    const zero = featurePenalty(name, matrix(2, 2), inputs);
    expect(zero.value).toBe(0);
    expect([...zero.gradient.data].map(Math.abs)).toEqual([0, 0, 0, 0]);
  }
});
