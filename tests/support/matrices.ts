/** Matrices whose singular values are known, for tests of decompositions. */

import { linalgSvd, zeros } from "../../src/engine/ops.generated.js";
import { Random } from "../../src/engine/random.js";
import { scope } from "../../src/engine/scope.js";
import { type Tensor, tensor } from "../../src/engine/tensor.js";

/** A float64 matrix of normal numbers. */
export function normalMatrix(rows: number, columns: number, seed = 0): Tensor {
  return new Random(seed, ["matrix", rows, columns]).normal_(zeros([rows, columns], { dtype: "float64" }));
}

/** Orthonormal columns, float64. */
export function orthonormal(rows: number, columns: number, seed = 0): Tensor {
  return scope(() => {
    const [u, , vt] = linalgSvd(normalMatrix(rows, columns, seed), false);
    return u.mm(vt);
  });
}

/** U·diag(σ)·Vᵀ and U·Vᵀ with random orthonormal U [rows, k] and V [columns, k], k singular values; float64. */
export function matrixWith(
  sigmas: readonly number[],
  [rows, columns]: readonly [number, number],
  seed = 0,
): { matrix: Tensor; polar: Tensor } {
  return scope(() => {
    const u = orthonormal(rows, sigmas.length, seed);
    const vt = orthonormal(columns, sigmas.length, seed + 1).t();
    return { matrix: u.mul(tensor(Float64Array.from(sigmas))).mm(vt), polar: u.mm(vt) };
  });
}

/** From 1 down to 1/condition in equal ratios. */
export function fallingSigmas(count: number, condition: number): number[] {
  return Array.from({ length: count }, (_, i) => condition ** (-i / Math.max(1, count - 1)));
}

/** 1, and all others at 1/condition: a batch with a large mean. */
export function spikedSigmas(count: number, condition: number): number[] {
  return Array.from({ length: count }, (_, i) => (i === 0 ? 1 : 1 / condition));
}
