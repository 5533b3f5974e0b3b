/** A linear layer and the GELU after it, as in the MLP of a transformer. */

import { linearGelu } from "../engine/ops.generated.js";
import type { Tensor } from "../engine/tensor.js";
import type { GELU } from "./activation.js";
import { usesFusedKernels } from "./fused-kernels.js";
import type { Linear } from "./linear.js";
import { toComputePrecision } from "./precision.js";

/** Applies both layers, with one operator (native/src/linear.cc) where it is used and supports them. */
export function linearThenGelu(linear: Linear, gelu: GELU, x: Tensor): Tensor {
  const { weight, bias, lora } = linear;
  if (!bias || lora || gelu.kind !== "exact" || !usesFusedKernels(x)) return gelu.forward(linear.forward(x));
  return linearGelu(toComputePrecision(x), toComputePrecision(weight), toComputePrecision(bias));
}
