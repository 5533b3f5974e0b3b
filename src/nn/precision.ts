/**
 * Mixed precision. Parameters stay in float32, and matrix products and convolutions run in bfloat16 inside
 * `withPrecision`. Reductions over many elements (statistics of norms, losses) run in float32.
 */

import type { DType } from "../engine/dtype.js";
import { refuseAsync } from "../engine/scope.js";
import type { Tensor } from "../engine/tensor.js";

/** `float32`: the dtype of the parameters. `bf16`: matrix products and convolutions in bfloat16. */
export type Precision = "float32" | "bf16";

let compute: DType | undefined;

/** Runs `body`, which must not be async, with layers that compute in the given precision. */
export function withPrecision<T>(precision: Precision, body: () => T): T {
  const before = compute;
  compute = precision === "bf16" ? "bfloat16" : undefined;
  try {
    return refuseAsync("withPrecision", body());
  } finally {
    compute = before;
  }
}

/** Returns whether matrix products and convolutions run in a lower precision than the parameters have. */
export const isMixedPrecision = (): boolean => compute !== undefined;

/**
 * Converts a tensor to the precision of matrix products: bfloat16 inside `withPrecision("bf16", …)`, otherwise
 * unchanged.
 */
export function toComputePrecision(tensor: Tensor): Tensor {
  return compute === undefined || tensor.dtype === compute ? tensor : tensor.toDType(compute);
}

/** Converts a tensor to at least float32, for reductions and losses. */
export function toFullPrecision(tensor: Tensor): Tensor {
  const { dtype } = tensor;
  return dtype === "bfloat16" || dtype === "float16" ? tensor.toDType("float32") : tensor;
}
