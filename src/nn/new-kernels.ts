/**
 * The operators of native/src that have not been measured on a GPU yet: fold-norms.cc, layer-norm.cc, channel-factors.cc,
 * grouped-conv.cc, linear.cc, max-pool.cc and wide-depthwise.cc. Layers use them only with `NUDGE_NEW_KERNELS=1`, on a
 * GPU and in mixed precision.
 */

import { fusedKernelsProblem } from "../engine/device.js";
import type { Tensor } from "../engine/tensor.js";
import { isMixedPrecision } from "./precision.js";

export const usesNewKernels = (x: Tensor): boolean =>
  process.env.NUDGE_NEW_KERNELS === "1" && isMixedPrecision() && fusedKernelsProblem(x.device) === "";
