/**
 * The operators of native/src/layer-norm.cc and channel-factors.cc. Their kernels have not run on a GPU yet, so layers use
 * them only with `NUDGE_NEW_KERNELS=1`, on a GPU and in mixed precision.
 */

import { fusedKernelsProblem } from "../engine/device.js";
import type { Tensor } from "../engine/tensor.js";
import { isMixedPrecision } from "./precision.js";

export const usesNewKernels = (x: Tensor): boolean =>
  process.env.NUDGE_NEW_KERNELS === "1" && isMixedPrecision() && fusedKernelsProblem(x.device) === "";
