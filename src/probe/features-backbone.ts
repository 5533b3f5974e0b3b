/**
 * The backbone of an exact probe: its samples are features that were computed once, and it returns them unchanged. The network they come from is put in its place
 * when the model is written.
 */

import { Backbone } from "../backbones/backbone.js";
import type { Tensor } from "../engine/tensor.js";

export class FeaturesBackbone extends Backbone {
  readonly inputShape: readonly number[];

  constructor(readonly width: number) {
    super();
    this.inputShape = [width];
  }

  forward(x: Tensor): Tensor {
    return x;
  }
}
