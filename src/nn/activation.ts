/**
 * Activations as layers. `inPlace` overwrites the input, which saves a pass over memory and is safe where the input was
 * made just before by a layer that does not need its own output for its gradient: convolution, linear, a norm.
 */

import type { Tensor } from "../engine/tensor.js";
import { Layer } from "./module.js";

/** max(x, 0) */
export class ReLU extends Layer {
  private readonly inPlace: boolean;

  constructor({ inPlace = false } = {}) {
    super();
    this.inPlace = inPlace;
  }

  forward(x: Tensor): Tensor {
    return this.inPlace ? x.relu_() : x.relu();
  }
}

/** x where it is positive, a small share of it where it is not. */
export class LeakyReLU extends Layer {
  constructor(private readonly slope = 0.01) {
    super();
  }

  forward(x: Tensor): Tensor {
    return x.leakyRelu(this.slope);
  }
}

/** min(max(x, 0), 6); x is written over. */
export function relu6_(x: Tensor): Tensor {
  return lacksHardtanh(x) ? x.relu_().clamp(null, 6) : x.hardtanh_(0, 6);
}

/** libtorch 1.13 has no gradient of hardtanh for bfloat16 on the CPU. */
const lacksHardtanh = (x: Tensor): boolean => x.dtype === "bfloat16" && x.device === "cpu";

/** min(max(x, 0), 6) */
export class ReLU6 extends Layer {
  private readonly inPlace: boolean;

  constructor({ inPlace = false } = {}) {
    super();
    this.inPlace = inPlace;
  }

  forward(x: Tensor): Tensor {
    if (this.inPlace) return relu6_(x);
    return lacksHardtanh(x) ? x.relu().clamp(null, 6) : x.hardtanh(0, 6);
  }
}
