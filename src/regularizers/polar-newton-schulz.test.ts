import { expect, test, vi } from "vitest";
import { expectClose } from "../../tests/support/close.js";
import { fallingSigmas, matrixWith, normalMatrix, spikedSigmas } from "../../tests/support/matrices.js";
import { native } from "../engine/load.js";
import { call } from "../engine/operator.js";
import { eye, linalgSvd, linalgSvdvals, zeros } from "../engine/ops.generated.js";
import { scope } from "../engine/scope.js";
import { type Tensor, tensor } from "../engine/tensor.js";
import { gramMatrix } from "./gram-matrix.js";
import { newtonSchulzPolar, type OddPolynomial, RESIDUAL_LIMIT, SCHEDULE } from "./polar-newton-schulz.js";

const [LIFT, , , , , , GATHER, CLOSE] = SCHEDULE;

const powers = ([a, u, v, w]: OddPolynomial): number[] => [a, a * (u + v), a * (w + u * v), a * u * w];
const at = (coefficients: readonly number[], x: number): number =>
  coefficients.reduce((sum, coefficient, i) => sum + coefficient * x ** (2 * i + 1), 0);

/** Returns points in [low, high] that are denser at both ends. */
const grid = (low: number, high: number, count: number): number[] =>
  Array.from({ length: count + 1 }, (_, i) => low + ((high - low) * (1 - Math.cos((Math.PI * i) / count))) / 2);

/**
 * Finds the odd polynomial of degree seven closest to 1 on [low, high], and its largest error, with the Remez
 * algorithm.
 */
function closestToOne(low: number, high: number): { coefficients: number[]; distance: number } {
  let points = grid(low, high, 4);
  for (let round = 0; round < 20; round++) {
    // The polynomial takes the values 1 ∓ e alternately at the points, which determines four coefficients and e.
    const rows = points.map((x, i) => [x, x ** 3, x ** 5, x ** 7, i % 2 === 0 ? 1 : -1]);
    const solved = scope(() => {
      const matrix = tensor(Float64Array.from(rows.flat()), { shape: [5, 5] });
      return (call("aten::linalg_solve", matrix, tensor(new Float64Array(5).fill(1))) as Tensor).data() as Float64Array;
    });
    const coefficients = [...solved.subarray(0, 4)];
    const error = (x: number): number => 1 - at(coefficients, x);
    // The next points are those with the largest error between two changes of sign.
    const next: number[] = [];
    for (const x of grid(low, high, 4000)) {
      const last = next.at(-1);
      if (last === undefined || error(x) * error(last) < 0) next.push(x);
      else if (Math.abs(error(x)) > Math.abs(error(last))) next[next.length - 1] = x;
    }
    expect(next).toHaveLength(5);
    points = next;
    const [distance, worst] = [Math.abs(solved[4]), Math.max(...next.map((x) => Math.abs(error(x))))];
    if (worst <= distance * (1 + 1e-6)) return { coefficients, distance };
  }
  throw new Error(`no best polynomial found on [${low}, ${high}]`);
}

test("the schedule's polynomials are the best of their degree on the intervals they meet", () => {
  const lift = closestToOne(0.05, 1);
  const top = 1 + lift.distance;
  expectClose(
    powers(LIFT),
    lift.coefficients.map((each) => each / top),
    { rtol: 1e-7 },
  );
  const gather = closestToOne((1 - lift.distance) / top, 1);
  expectClose(powers(GATHER), gather.coefficients, { rtol: 1e-7 });
  const close = closestToOne(1 - gather.distance, 1 + gather.distance);
  expectClose(powers(CLOSE), close.coefficients, { rtol: 1e-7 });
});

test("they take 1e-5 to 1 within 1.1e-5 of 1, and what is smaller no higher", () => {
  const through = (x: number): number => SCHEDULE.reduce((value, step) => at(powers(step), value), x);
  const ends = grid(-5, 0, 20_000).map((exponent) => through(10 ** exponent));
  expect(Math.max(...ends)).toBeLessThan(1 + 1.1e-5);
  expect(Math.min(...ends)).toBeGreaterThan(1 - 1.1e-5);
  const smaller = grid(-9, -5.1, 2000).map((exponent) => through(10 ** exponent));
  expect(smaller).toEqual(smaller.toSorted((one, other) => one - other)); // monotonically increasing
  expect(Math.max(...smaller)).toBeLessThan(1);
  for (const x of [1 + 1e-14, 1 + 1e-9]) expect(through(x)).toBeCloseTo(1, 4); // σ₁ may be rounded up
});

/** The former implementation: twenty steps of (15 − 10G + 3G²)/8. */
function plainNewtonSchulz(matrix: Tensor): Tensor {
  const gram = gramMatrix(matrix);
  const identity = eye(gram.rows, { dtype: "float64" });
  const scale = gram.norm();
  let [g, m] = [gram.div(scale), identity.div(scale.sqrt())];
  for (let step = 0; step < 20; step++) {
    const q = identity.mul(15 / 8).sub_(g, { alpha: 10 / 8 });
    q.addmm_(g, g, { alpha: 3 / 8 });
    m = q.mm(m);
    g = q.mm(g).mm(q);
  }
  return m.mm(matrix);
}

const length = (matrix: Tensor): number => linalgSvdvals(matrix).max().item();

test.each(Object.entries({ falling: fallingSigmas, spiked: spikedSigmas }))(
  "with %s singular values it is as exact as twenty plain steps at every condition, and more so at 1e5",
  (_, spectrum) =>
    scope(() => {
      for (const condition of [1, 10, 1e2, 1e3, 1e4, 3e4, 1e5]) {
        const { matrix } = matrixWith(spectrum(48, condition), [48, 130]);
        const [u, sigmas, vt] = linalgSvd(matrix, false);
        const off = (polar: Tensor): number => length(polar.sub(u.mm(vt)));
        const plain = off(plainNewtonSchulz(matrix));
        const { polar, value, residual } = newtonSchulzPolar(matrix);
        expect(off(polar)).toBeLessThan(2 * plain + 5e-14);
        expect(off(polar)).toBeLessThan(2e-15 * condition ** 2 + 1e-13); // the rounding error of G in float64, over σ²
        expectClose([value.item()], [sigmas.sum().item()], { rtol: 1e-10 });
        expect(residual.item()).toBeLessThan(RESIDUAL_LIMIT);
      }
    }),
);

test("its value is at most the nuclear norm and its factor no longer than 1, converged or not", () =>
  scope(() => {
    const batches = [1, 1e2, 1e4, 1e5, 2e5, 1e6, 1e7, 1e9, 1e12].flatMap((condition) => [
      matrixWith(fallingSigmas(24, condition), [24, 60]).matrix,
      matrixWith(spikedSigmas(24, condition), [60, 24]).matrix,
    ]);
    const rankTwo = normalMatrix(20, 2).mm(normalMatrix(2, 50));
    for (const matrix of [...batches, rankTwo, normalMatrix(1, 30), zeros([5, 9], { dtype: "float64" })]) {
      for (const given of [matrix, matrix.to({ dtype: "float32" })]) {
        const { polar, value } = newtonSchulzPolar(given);
        const exact = linalgSvdvals(given.to({ dtype: "float64" }))
          .sum()
          .item();
        expect(value.item()).toBeLessThanOrEqual(exact * (1 + 1e-9));
        expect(length(polar.to({ dtype: "float64" }))).toBeLessThan(1 + 1e-5);
      }
    }
  }));

test("a tall matrix's factor is the transpose of the wide one's", () =>
  scope(() => {
    const { matrix } = matrixWith(spikedSigmas(20, 1e3), [20, 70]);
    const [wide, tall] = [matrix, matrix.t()].map((given) => newtonSchulzPolar(given));
    expectClose(tall.polar, wide.polar.t(), { atol: 1e-11 });
    expect(tall.polar.strides).toEqual([20, 1]);
    expectClose([tall.value.item(), tall.residual.item()], [wide.value.item(), wide.residual.item()], { rtol: 1e-9 });
  }));

/**
 * Counts the operators of a call, without views and conversions of float64 to itself, and the reads from the device.
 */
function operators(matrix: Tensor): { products: number; others: number; reads: number } {
  const spies = [vi.spyOn(native, "call"), vi.spyOn(native, "item"), vi.spyOn(native, "read")] as const;
  newtonSchulzPolar(matrix);
  const [calls, ...reads] = spies.map((spy) => [...spy.mock.calls]);
  for (const spy of spies) spy.mockRestore();
  const names = calls.map(([id]) => native.schema(id as number).name);
  const count = (...wanted: string[]): number => names.filter((name) => wanted.includes(name)).length;
  const products = count("aten::mm", "aten::addmm", "aten::addmm_");
  const nothing = count("aten::narrow", "aten::t") + count("aten::to.dtype") - 2;
  return { products, others: names.length - products - nothing, reads: reads.flat().length };
}

test("it takes 29 products and 40 other operators whatever the batch, and reads nothing back", () =>
  scope(() => {
    for (const given of [normalMatrix(8, 30), matrixWith([3, 2, 1e-7], [30, 8]).matrix, zeros([1, 6])]) {
      const counted = operators(given.to({ dtype: "float32" }));
      expect(counted).toEqual({ products: 29, others: 40, reads: 0 });
    }
  }));
