/**
 * Whether layers use the operators of fold-norms.cc, layer-norm.cc, channel-factors.cc, grouped-conv.cc, linear.cc,
 * max-pool.cc and wide-depthwise.cc (native/src): on a GPU that has the kernels, in mixed precision.
 */

import { fusedKernelsProblem } from "../engine/device.js";
import type { Tensor } from "../engine/tensor.js";
import { isMixedPrecision } from "./precision.js";

export const usesFusedKernels = (x: Tensor): boolean => isMixedPrecision() && fusedKernelsProblem(x.device) === "";
