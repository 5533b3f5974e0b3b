/**
 * Features Φ(x) = A·x of a vector, the model of the paper's Sections 3.1 and 4. A is initialized like PyTorch's linear
 * layers.
 */

import type { Tensor } from "../engine/tensor.js";
import { Linear } from "../nn/linear.js";
import { toFullPrecision } from "../nn/precision.js";
import { Backbone, type BackboneOptions, defineBackbone, vectorSize } from "./backbone.js";

const ID = "linear-map";

export class LinearMap extends Backbone {
  readonly width: number;
  readonly inputShape: readonly number[];
  readonly map: Linear;

  /** The number of features is `width`. The default is the number of inputs. */
  constructor(options: BackboneOptions) {
    super();
    const inputs = vectorSize(ID, options);
    this.inputShape = options.inputShape ?? [inputs];
    this.width = options.width ?? inputs;
    this.map = new Linear(inputs, this.width, { bias: false });
  }

  forward(x: Tensor): Tensor {
    return toFullPrecision(this.map.forward(x.shape.length === 2 ? x : x.flatten(1)));
  }
}

export const linearMap = defineBackbone({
  id: ID,
  title: "Linear map",
  paper:
    "Shi et al., Domain Generalization via Nuclear Norm Regularization, CPAL 2024, https://arxiv.org/abs/2303.07527",
  build: (options = {}) => new LinearMap(options),
});
