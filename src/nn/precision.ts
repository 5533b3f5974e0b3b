/**
 * Mixed precision: parameters stay float32, and matrix products and convolutions run in bfloat16 inside `withPrecision`.
 * Sums over many numbers (norms' statistics, losses) are taken in float32.
 */

import type { DType } from "../engine/dtype.js";
import { refuseAsync } from "../engine/scope.js";
import type { Tensor } from "../engine/tensor.js";

/** `float32`: as the parameters are. `bf16`: products in bfloat16. */
export type Precision = "float32" | "bf16";

let compute: DType | undefined;

/** Runs `body`, which must not be async, with its layers computing in the given precision. */
export function withPrecision<T>(precision: Precision, body: () => T): T {
  const before = compute;
  compute = precision === "bf16" ? "bfloat16" : undefined;
  try {
    return refuseAsync("withPrecision", body());
  } finally {
    compute = before;
  }
}

/** The tensor in the precision of matrix products: bfloat16 inside `withPrecision("bf16", …)`, otherwise unchanged. */
export function toComputePrecision(tensor: Tensor): Tensor {
  return compute === undefined || tensor.dtype === compute ? tensor : tensor.toDType(compute);
}

/** The tensor in at least float32, for sums and losses. */
export function toFullPrecision(tensor: Tensor): Tensor {
  const { dtype } = tensor;
  return dtype === "bfloat16" || dtype === "float16" ? tensor.toDType("float32") : tensor;
}
