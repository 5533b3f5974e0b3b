import { expect, test } from "vitest";
import { expectClose } from "../../tests/support/close.js";
import { matrixWith, normalMatrix, orthonormal } from "../../tests/support/matrices.js";
import { ones, zeros } from "../engine/ops.generated.js";
import { scope } from "../engine/scope.js";
import { EngineError, UsageError } from "../errors.js";
import { effectiveRank, rankMeasures, spectrum, stableRank } from "./rank.js";

test("the spectrum is the singular values, largest first", () =>
  scope(() => {
    expectClose(spectrum([[3, 0, 0], [0, 4, 0]]), [4, 3], { rtol: 1e-12 }); // biome-ignore format: a matrix
    const sigmas = [5, 2, 1, 0.1];
    expectClose(spectrum(matrixWith(sigmas, [4, 30]).matrix), sigmas, { rtol: 1e-12 });
    expectClose(spectrum(matrixWith(sigmas, [30, 4]).matrix), sigmas, { rtol: 1e-12 });
  }));

test("large matrices are computed by the Gram matrix, with the same result", () =>
  scope(() => {
    const sigmas = Array.from({ length: 40 }, (_, i) => 0.8 ** i);
    const { matrix } = matrixWith(sigmas, [40, 30_000]); // above 2²⁰ elements
    expectClose(spectrum(matrix), sigmas, { atol: 1e-8 });
    expectClose(spectrum(matrix.t()), sigmas, { atol: 1e-8 });
  }));

test("k equal singular values have stable and effective rank k", () =>
  scope(() => {
    for (const k of [1, 3, 7]) {
      const matrix = orthonormal(12, k).mul(0.3);
      expectClose([stableRank(matrix), effectiveRank(matrix)], [k, k], { rtol: 1e-10 });
    }
  }));

test("diag(3, 4) has stable rank 25/16 and the effective rank of its entropy", () => {
  const [p, q] = [3 / 7, 4 / 7];
  const matrix = [[3, 0], [0, 4]]; // biome-ignore format: a matrix
  expectClose([stableRank(matrix)], [25 / 16], { rtol: 1e-12 });
  expectClose([effectiveRank(matrix)], [p ** -p * q ** -q], { rtol: 1e-12 });
});

test("neither rank depends on scale, and both are at most the rank of the matrix", () =>
  scope(() => {
    const matrix = normalMatrix(20, 6).mm(normalMatrix(6, 30));
    for (const rank of [stableRank, effectiveRank]) {
      expectClose([rank(matrix.mul(1e-80))], [rank(matrix)], { rtol: 1e-9 });
      expect(rank(matrix)).toBeGreaterThan(1);
      expect(rank(matrix)).toBeLessThanOrEqual(6);
    }
  }));

test("a large mean holds the stable rank near 1 until it is taken off", () =>
  scope(() => {
    const matrix = normalMatrix(200, 40).add(10);
    expect(stableRank(matrix)).toBeLessThan(1.05);
    expect(stableRank(matrix, { centred: true })).toBeGreaterThan(10);
  }));

test("rows that are all the same have rank 1, and centred none", () =>
  scope(() => {
    const matrix = normalMatrix(1, 9).add(3).repeat([7, 1]);
    expectClose([stableRank(matrix), effectiveRank(matrix)], [1, 1], { rtol: 1e-9 });
    expect(stableRank(matrix, { centred: true })).toBe(0);
    expect(effectiveRank(matrix, { centred: true })).toBe(0);
  }));

test("zeros and nothing have rank 0", () =>
  scope(() => {
    expect([stableRank(zeros([3, 4])), effectiveRank(zeros([3, 4])), rankMeasures(zeros([3, 4])).normRatio]).toEqual([
      0, 0, 0,
    ]);
    expect(stableRank([])).toBe(0);
  }));

test("the measures of a run agree with each other and with the norms", () =>
  scope(() => {
    const measures = rankMeasures(matrixWith([2, 2, 1], [5, 8]).matrix.to({ dtype: "float32" }));
    expect(measures).toMatchObject({ samples: 5, width: 8 });
    expectClose([measures.nuclearNorm, measures.frobeniusNorm], [5, 3], { rtol: 1e-6 });
    expectClose([measures.normRatio, measures.stableRank], [5 / 3, 9 / 4], { rtol: 1e-6 });
    expect(rankMeasures([[1, 2], [3, 4], [5, 6]])).toMatchObject({ samples: 3, width: 2 }); // biome-ignore format: a matrix
  }));

test("features that are not finite, or no matrix, are refused", () =>
  scope(() => {
    const broken = ones([3, 4]);
    broken.select(0, 1).fill_(Number.NaN);
    expect(() => spectrum(broken)).toThrow(EngineError);
    expect(() => spectrum(broken)).toThrow(/float32\[3, 4\]/);
    expect(() => spectrum(ones([3]))).toThrow(UsageError);
  }));
