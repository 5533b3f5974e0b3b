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

/** x·sigmoid(x), also called Swish; x is written over where no gradient needs it. */
export function silu(x: Tensor): Tensor {
  // With a gradient the operator in place would copy x first, which is more work than the operator out of place.
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

/** Which GELU: exact x·Φ(x), its approximation by tanh, or CLIP's "quick" one, x·sigmoid(1.702·x). They differ by up to 0.02. */
export type GeluKind = "exact" | "tanh" | "quick";

/** GELU (Hendrycks & Gimpel, 2016, https://arxiv.org/abs/1606.08415). */
export class GELU extends Layer {
  /** Part of the trained network, not of the file of its weights: a loader may set it. */
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
