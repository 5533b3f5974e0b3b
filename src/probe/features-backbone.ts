/**
 * The backbone of an exact probe. Its samples are features that were computed once, and it returns them unchanged. When
 * the model is written, it is replaced by the network that computed the features.
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
