/** A lookup table of vectors. */

import { embedding, empty } from "../engine/ops.generated.js";
import type { Random } from "../engine/random.js";
import type { Tensor } from "../engine/tensor.js";
import { Layer, Parameter } from "./module.js";

export class Embedding extends Layer {
  readonly weight: Parameter; // [count, width]

  constructor(
    readonly count: number,
    readonly width: number,
  ) {
    super();
    this.weight = new Parameter(empty([count, width]));
  }

  /** Uses PyTorch's default: N(0, 1). */
  protected override reset(random: Random): void {
    random.for("weight").normal_(this.weight);
  }

  /** Returns the rows at these int64 positions: [n] → [n, width]. */
  forward(positions: Tensor): Tensor {
    return embedding(this.weight, positions);
  }
}
