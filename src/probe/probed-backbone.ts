/**
 * The backbone of a probe: a frozen network, then a square linear map A that starts as the identity. A·f(x) is trained
 * and penalized, as in the paper's Sections 3.1 and 4, with the features f(x) of a real network as inputs.
 *
 * Training uses features that were computed once (extract-features.ts), so it needs only the map. Network and map are
 * combined for the model file, which is like any other: pictures in, logits out.
 */

import { Backbone } from "../backbones/backbone.js";
import { LinearMap } from "../backbones/linear-map.js";
import { eye } from "../engine/ops.generated.js";
import { scope } from "../engine/scope.js";
import { noGrad, type Tensor } from "../engine/tensor.js";
import { Linear } from "../nn/linear.js";
import { toFullPrecision } from "../nn/precision.js";

/** A frozen backbone followed by the map. Its tensors are `body.…` and `map.weight`. */
export class ProbedBackbone extends Backbone {
  readonly width: number;
  readonly inputShape: readonly number[];
  readonly map: Linear;

  /** `body` is already initialized. The map is the identity until another is loaded. */
  constructor(readonly body: Backbone) {
    super();
    this.width = body.width;
    this.inputShape = body.inputShape;
    this.map = new Linear(body.width, body.width, { bias: false });
    becomeIdentity(this.map);
  }

  forward(x: Tensor): Tensor {
    return toFullPrecision(this.map.forward(this.body.forward(x)));
  }
}

/** The map alone, for training on features. Its tensor has the same name as in the whole model. */
export function identityMap(width: number): LinearMap {
  const map = new LinearMap({ inputShape: [width] });
  becomeIdentity(map.map);
  return map;
}

function becomeIdentity({ weight, inputs }: Linear): void {
  scope(() => noGrad(() => weight.copy_(eye(inputs))));
}
