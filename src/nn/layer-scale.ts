/**
 * LayerScale (Touvron et al., 2021, https://arxiv.org/abs/2103.17239): a learned factor for each channel of a residual
 * branch.
 */

import { empty } from "../engine/ops.generated.js";
import type { Random } from "../engine/random.js";
import type { Tensor } from "../engine/tensor.js";
import { Layer, Parameter } from "./module.js";

export class LayerScale extends Layer {
  readonly gamma: Parameter; // [width]
  private readonly start: number;

  constructor(width: number, { start = 1e-5 } = {}) {
    super();
    this.gamma = new Parameter(empty([width]));
    this.start = start;
  }

  protected override reset(_random: Random): void {
    this.gamma.fill_(this.start);
  }

  /**
   * [..., width] → [..., width], in at least float32, because a branch scaled by 1e-5 would vanish in lower precision.
   */
  forward(x: Tensor): Tensor {
    return x.mul(this.gamma);
  }
}
