/** Runs LAPACK on small matrices with one thread. */

import { setBlasThreads } from "../engine/device.js";
import type { Tensor } from "../engine/tensor.js";

/**
 * Runs `body` with one OpenBLAS thread if the matrix is on the CPU and its shorter side is small. For a small
 * decomposition, synchronizing threads takes longer than the work itself (96 × 96 in float64: 0.6 ms with one thread,
 * 0.8 to 1.1 ms with two). On a busy machine each synchronization may also wait for a time slice.
 */
export function withOneBlasThread<T>(matrix: Tensor, body: () => T): T {
  if (matrix.device !== "cpu" || Math.min(...matrix.shape) > LARGEST) return body();
  const before = setBlasThreads(1);
  try {
    return body();
  } finally {
    if (before > 1) setBlasThreads(before);
  }
}

const LARGEST = 256;
