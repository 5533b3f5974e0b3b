import { describe, expect, test } from "vitest";
import { expectClose } from "../../tests/support/close.js";
import { fallingSigmas, matrixWith, normalMatrix, orthonormal, spikedSigmas } from "../../tests/support/matrices.js";
import { liveTensors } from "../engine/device.js";
import { cat, linalgSvd, linalgSvdvals, zeros } from "../engine/ops.generated.js";
import { scope } from "../engine/scope.js";
import { type Tensor, tensor } from "../engine/tensor.js";
import { EngineError, UsageError } from "../errors.js";
import { type PolarFactor, polarFactor, polarRoutes, residualTooLarge } from "./polar.js";

const total = (sigmas: readonly number[]): number => sigmas.reduce((sum, sigma) => sum + sigma, 0);
const largestSigma = (matrix: Tensor): number =>
  linalgSvdvals(matrix.to({ dtype: "float64" }))
    .max()
    .item();
const exactNorm = (matrix: Tensor): number =>
  linalgSvdvals(matrix.to({ dtype: "float64" }))
    .sum()
    .item();

/**
 * Checks what must hold for every batch: the value is accurate to 1e-6, and the factor is finite with singular values
 * of at most 1. Newton–Schulz may treat singular values around 1e-7·σ₁ as zero, and each of them reduces the value by
 * that much.
 */
function expectSound({ polar, value, route }: PolarFactor, matrix: Tensor): void {
  const exact = exactNorm(matrix);
  const tolerance = route === "newton-schulz" ? 1e-7 * Math.min(...matrix.shape) : 1e-6;
  expect(Math.abs(value.item() - exact)).toBeLessThanOrEqual(tolerance * exact);
  expect(polar.isfinite().allTrue().item()).toBe(1);
  expect(largestSigma(polar)).toBeLessThanOrEqual(1 + 1e-3);
}

const SHAPES: Record<string, [number, number]> = {
  "n < d": [24, 160],
  "n > d": [160, 24],
  "n = d": [32, 32],
  "n = 1": [1, 48],
  "d = 1": [48, 1],
};
const SPECTRA = { falling: fallingSigmas, spiked: spikedSigmas };

describe.each(polarRoutes)("the %s route", (route) => {
  test("gives 7 and its gradient for diag(3, 4)", () =>
    scope(() => {
      const { polar, value } = polarFactor(tensor([[3, 0, 0], [0, 4, 0]]), { route }); // biome-ignore format: a matrix
      expectClose([value.item()], [7], { rtol: 1e-6 });
      expectClose(polar, [[1, 0, 0], [0, 1, 0]], { atol: 1e-6 }); // biome-ignore format: a matrix
    }));

  test.each(Object.entries(SHAPES))("gives U·Vᵀ to 1e-4 up to condition 1e4 where %s", (_, shape) =>
    scope(() => {
      for (const [name, spectrum] of Object.entries(SPECTRA)) {
        for (const condition of [1, 30, 900, 1e4]) {
          const sigmas = spectrum(Math.min(...shape), condition);
          const { matrix, polar } = matrixWith(sigmas, shape);
          const exact = polarFactor(matrix, { route });
          const what = `${name} to 1/${condition}`;
          expectClose(exact.polar, polar, { atol: 1e-4, what });
          expectClose([exact.value.item()], [total(sigmas)], { rtol: 1e-6, what });
          // Rounding to float32 rotates the weakest directions by eps·condition, so the expected result is that of the
          // rounded features.
          const rounded = matrix.to({ dtype: "float32" });
          const [u, , vt] = linalgSvd(rounded.to({ dtype: "float64" }), false);
          const found = polarFactor(rounded, { route });
          expect(found.polar.dtype).toBe("float32");
          expectClose(found.polar, u.mm(vt), { atol: 1e-4, what: `${what} in float32` });
          expectClose([found.value.item()], [exactNorm(rounded)], { rtol: 1e-6, what: `${what} in float32` });
        }
      }
    }),
  );

  test("is sound beyond condition 1e4", () =>
    scope(() => {
      for (const shape of Object.values(SHAPES)) {
        for (const spectrum of Object.values(SPECTRA)) {
          for (const condition of [1e5, 3e5, 1e6, 1e7, 1e9, 1e12, 1e15]) {
            const { matrix } = matrixWith(spectrum(Math.min(...shape), condition), shape);
            for (const dtype of ["float64", "float32"] as const) {
              const given = matrix.to({ dtype });
              expectSound(polarFactor(given, { route }), given);
            }
          }
        }
      }
    }));

  test("leaves out what a rank-deficient batch lacks", () =>
    scope(() => {
      for (const shape of Object.values(SHAPES).filter((sizes) => Math.min(...sizes) > 3)) {
        const { matrix, polar } = matrixWith([3, 2, 0.5], shape);
        const given = matrix.to({ dtype: "float32" });
        const found = polarFactor(given, { route });
        expectSound(found, given);
        expectClose(found.polar, polar, { atol: 5e-3 }); // Newton–Schulz amplifies the rounding of float32 to this size
      }
    }));

  test("handles repeated rows, repeated singular values, one row and no size at all", () =>
    scope(() => {
      const row = normalMatrix(1, 40).to({ dtype: "float32" });
      const repeated = row.repeat([12, 1]);
      const found = polarFactor(repeated, { route });
      expectSound(found, repeated);
      expectClose(found.polar, repeated.div(repeated.norm()), { atol: 1e-5 });

      const { matrix, polar } = matrixWith([2, 2, 2, 1, 1], [5, 9]);
      expectClose(polarFactor(matrix, { route }).polar, polar, { atol: 1e-7 });

      expectClose(polarFactor(row, { route }).polar, row.div(row.norm()), { atol: 1e-6 });

      const zero = polarFactor(zeros([6, 20]), { route });
      expect(zero.value.item()).toBe(0);
      expectClose(zero.polar, zeros([6, 20]), { atol: 0 });

      const empty = polarFactor(zeros([0, 20]), { route });
      expect([empty.value.item(), empty.polar.shape]).toEqual([0, [0, 20]]);
    }));

  test("is indifferent to scale, from 1e-30 to 1e30 in float32", () =>
    scope(() => {
      const { matrix, polar } = matrixWith(fallingSigmas(8, 50), [8, 30]);
      for (const scale of [1e-30, 1e-12, 1, 1e12, 1e30]) {
        const given = matrix.mul(scale).to({ dtype: "float32" });
        const found = polarFactor(given, { route });
        expectClose(found.polar, polar, { atol: 1e-5, what: `scale ${scale}` });
        expectClose([found.value.item()], [exactNorm(given)], { rtol: 1e-6, what: `scale ${scale}` });
      }
    }));

  test("takes bf16 features and answers in float32", () =>
    scope(() => {
      const given = normalMatrix(12, 64).to({ dtype: "bfloat16" });
      const found = polarFactor(given, { route });
      const exact = polarFactor(given.to({ dtype: "float64" }), { route: "svd" });
      expect(found.polar.dtype).toBe("float32");
      expectClose(found.polar, exact.polar, { atol: 1e-6 });
      expectClose([found.value.item()], [exact.value.item()], { rtol: 1e-6 });
    }));

  test("turns with the features: P(Q·F·R) = Q·P(F)·R for orthogonal Q and R", () =>
    scope(() => {
      const matrix = normalMatrix(10, 25);
      const [q, r] = [orthonormal(10, 10, 3), orthonormal(25, 25, 4)];
      const [plain, turned] = [polarFactor(matrix, { route }), polarFactor(q.mm(matrix).mm(r), { route })];
      expectClose(turned.polar, q.mm(plain.polar).mm(r), { atol: 1e-8 });
      expectClose([turned.value.item()], [plain.value.item()], { rtol: 1e-8 });
    }));

  test("is a norm: homogeneous, and at most the sum of the parts", () =>
    scope(() => {
      const norm = (matrix: Tensor): number => polarFactor(matrix, { route }).value.item();
      for (let seed = 0; seed < 8; seed++) {
        const [a, b] = [normalMatrix(9, 14, seed), normalMatrix(9, 14, seed + 100)];
        expectClose([norm(a.mul(-3.5))], [3.5 * norm(a)], { rtol: 1e-9 });
        expect(norm(a.add(b))).toBeLessThanOrEqual((norm(a) + norm(b)) * (1 + 1e-9));
      }
    }));

  test("is at most √rank times the Frobenius norm, and equal to it for equal singular values", () =>
    scope(() => {
      for (const rank of [1, 2, 5]) {
        const matrix = normalMatrix(11, rank, rank).mm(normalMatrix(rank, 17, rank + 50));
        const bound = Math.sqrt(rank) * matrix.norm().item();
        expect(polarFactor(matrix, { route }).value.item()).toBeLessThanOrEqual(bound * (1 + 1e-7));
        const equal = matrixWith(Array(rank).fill(0.7), [11, 17]).matrix;
        expectClose([polarFactor(equal, { route }).value.item()], [Math.sqrt(rank) * equal.norm().item()], {
          rtol: 1e-7,
        });
      }
    }));

  test.each([Number.NaN, Number.POSITIVE_INFINITY])("names the tensor that holds %s", (bad) =>
    scope(() => {
      const features = normalMatrix(6, 30).to({ dtype: "float32" });
      features.select(0, 2).select(0, 5).fill_(bad);
      const call = () => polarFactor(features, { route, what: "the features at step 7" });
      expect(call).toThrow(EngineError);
      expect(call).toThrow(/the features at step 7 hold NaN or Inf \(float32\[6, 30\]\)/);
    }),
  );

  test("frees all but what it returns", () =>
    scope(() => {
      const features = normalMatrix(8, 12).to({ dtype: "float32" }).requiresGrad_();
      const before = liveTensors();
      const { polar, residual } = polarFactor(features, { route });
      expect(polar.requiresGrad).toBe(false);
      expect(liveTensors() - before).toBe(residual ? 3 : 2);
    }));
});

describe("Newton–Schulz", () => {
  test("leaves a small residual once it has converged, whether or not the batch has full rank", () =>
    scope(() => {
      const lacking = matrixWith([3, 2, 0.5], [16, 40]).matrix;
      for (const matrix of [normalMatrix(16, 40), lacking]) {
        const { residual, route } = polarFactor(matrix, { route: "newton-schulz" });
        expect(route).toBe("newton-schulz");
        expect(residual!.item()).toBeLessThan(1e-4);
      }
    }));

  test("gives way to the eigensolver when it has not converged, and says so", () =>
    scope(() => {
      const { matrix, polar } = matrixWith(fallingSigmas(12, 2e5), [12, 60]);
      const notices: string[] = [];
      const found = polarFactor(matrix, {
        route: "newton-schulz",
        what: "the features at step 300",
        notice: (message) => notices.push(message),
      });
      expect(found.route).toBe("gram");
      expectClose(found.polar, polar, { atol: 1e-4 });
      expect(notices).toHaveLength(1);
      expect(notices[0]).toMatch(/Newton–Schulz left a residual of \S+ on the features at step 300 .* eigensolver/);
    }));

  test("reports nothing when it has converged", () =>
    scope(() => {
      const notice = (message: string) => {
        throw new Error(message);
      };
      polarFactor(normalMatrix(12, 60), { route: "newton-schulz", notice });
    }));

  test("deferred, leaves the judgement to who reads the residual", () =>
    scope(() => {
      const converged = polarFactor(normalMatrix(12, 60), { deferred: true });
      expect(converged.route).toBe("newton-schulz");
      expect(residualTooLarge(converged.residual!.item())).toBe(false);

      const { matrix } = matrixWith(fallingSigmas(12, 2e5), [12, 60]);
      const { value, residual } = polarFactor(matrix, { deferred: true });
      expect(residualTooLarge(residual!.item())).toBe(true);
      expect(value.item()).toBeLessThan(exactNorm(matrix)); // a lower bound before convergence

      const broken = cat([normalMatrix(3, 8), zeros([1, 8], { dtype: "float64" }).fill_(Number.NaN)]);
      expect(residualTooLarge(polarFactor(broken, { deferred: true }).residual!.item())).toBe(true);
    }));

  test("deferred, is defined on a batch of zeros", () =>
    scope(() => {
      const { polar, value, residual } = polarFactor(zeros([4, 9]), { deferred: true });
      expectClose(polar, zeros([4, 9]), { atol: 0 });
      expect([value.item(), residual!.item()]).toEqual([0, 0]);
    }));

  test("is the only route that can be deferred", () =>
    scope(() => {
      expect(() => polarFactor(zeros([4, 9]), { route: "gram", deferred: true })).toThrow(UsageError);
    }));
});

test("by default on the CPU, float32 uses the Gram matrix and float64 the SVD", () =>
  scope(() => {
    expect(polarFactor(normalMatrix(5, 9).to({ dtype: "float32" })).route).toBe("gram");
    expect(polarFactor(normalMatrix(5, 9)).route).toBe("svd");
    expect(polarFactor(normalMatrix(5, 9), { route: "gram" }).route).toBe("gram");
  }));

test("numbers beyond what a Gram matrix can square go by the SVD", () =>
  scope(() => {
    for (const scale of [1e-200, 1e200]) {
      const { matrix, polar } = matrixWith([2, 1], [4, 6]);
      const found = polarFactor(matrix.mul(scale), { route: "gram" });
      expect(found.route).toBe("svd");
      expectClose(found.polar, polar, { atol: 1e-10 });
      expectClose([found.value.item() / scale], [3], { rtol: 1e-10 });
    }
  }));

test("what is no matrix of floating-point numbers is refused", () =>
  scope(() => {
    expect(() => polarFactor(zeros([2, 3, 4]))).toThrow(
      /expected the features as a matrix \[rows, width\], got float32\[2, 3, 4\]/,
    );
    expect(() => polarFactor(zeros([2, 3], { dtype: "int64" }))).toThrow(
      /expected the features as floating-point numbers/,
    );
  }));
