/** LAPACK on small matrices. */

import { setBlasThreads } from "../engine/device.js";
import type { Tensor } from "../engine/tensor.js";

/**
 * Runs `body` with one thread of OpenBLAS where the matrix is on the CPU and its short side small. Handing pieces of a small
 * decomposition from thread to thread takes longer than the work (96 × 96 in float64: 0.6 ms with one thread, 0.8 to 1.1 with
 * two), and on a machine with other work each hand-over may wait for a time slice.
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
