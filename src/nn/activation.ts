/**
 * Activations as layers. With `inPlace` the layer overwrites its input, which saves a pass over memory. This is safe if
 * the input is the output of a layer that does not need it for its gradient: a convolution, a linear layer or a norm.
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

/** x if x is positive, slope·x otherwise. */
export class LeakyReLU extends Layer {
  constructor(private readonly slope = 0.01) {
    super();
  }

  forward(x: Tensor): Tensor {
    return x.leakyRelu(this.slope);
  }
}

/** min(max(x, 0), 6), in place. */
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

/** x·sigmoid(x), also called Swish. Computed in place if x requires no gradient. */
export function silu(x: Tensor): Tensor {
  // If x requires a gradient, the in-place operator would first copy x, which is slower than the out-of-place operator.
  return x.requiresGrad ? x.silu() : x.silu_();
}

/** x·sigmoid(x) (Elfwing et al., 2017, https://arxiv.org/abs/1702.03118) */
export class SiLU extends Layer {
  forward(x: Tensor): Tensor {
    return x.silu();
  }
}

/** x·min(max(x + 3, 0), 6)/6 (Howard et al., 2019, https://arxiv.org/abs/1905.02244) */
export class Hardswish extends Layer {
  forward(x: Tensor): Tensor {
    return x.hardswish();
  }
}

/**
 * The variant of GELU: the exact x·Φ(x), its tanh approximation, or CLIP's "quick" GELU, x·sigmoid(1.702·x). They
 * differ by up to 0.02.
 */
export type GeluKind = "exact" | "tanh" | "quick";

/** GELU (Hendrycks & Gimpel, 2016, https://arxiv.org/abs/1606.08415). */
export class GELU extends Layer {
  /** The variant belongs to the trained network but is not stored with its weights, so a loader may set it. */
  kind: GeluKind;

  constructor({ kind = "exact" as GeluKind } = {}) {
    super();
    this.kind = kind;
  }

  forward(x: Tensor): Tensor {
    if (this.kind === "quick") return x.mul(1.702).sigmoid().mul(x);
    return x.gelu({ approximate: this.kind === "tanh" ? "tanh" : "none" });
  }
}
