/**
 * Features Φ(x) = diag(a)·x of a vector: the linear map of the paper's Section 4, restricted to a selection of inputs,
 * which is all that its optimal solutions use. It is initialized as the identity.
 */

import { empty } from "../engine/ops.generated.js";
import type { Random } from "../engine/random.js";
import type { Tensor } from "../engine/tensor.js";
import { Parameter } from "../nn/module.js";
import { toFullPrecision } from "../nn/precision.js";
import { Backbone, type BackboneOptions, defineBackbone, vectorSize } from "./backbone.js";

const ID = "diagonal-map";

export class DiagonalMap extends Backbone {
  readonly width: number;
  readonly inputShape: readonly number[];
  readonly weight: Parameter; // [inputs]

  constructor(options: BackboneOptions) {
    super();
    this.width = vectorSize(ID, options);
    this.inputShape = options.inputShape ?? [this.width];
    this.weight = new Parameter(empty([this.width]));
  }

  protected override reset(_random: Random): void {
    this.weight.fill_(1);
  }

  forward(x: Tensor): Tensor {
    return toFullPrecision(x.shape.length === 2 ? x : x.flatten(1)).mul(this.weight);
  }
}

export const diagonalMap = defineBackbone({
  id: ID,
  title: "Diagonal map",
  paper:
    "Shi et al., Domain Generalization via Nuclear Norm Regularization, CPAL 2024, https://arxiv.org/abs/2303.07527",
  build: (options = {}) => new DiagonalMap(options),
});
