/**
 * The backbone of a probe: a frozen network, then a square linear map A that starts as the identity. What is trained and
 * penalised is A·f(x), as in the paper's Sections 3.1 and 4, with a real network's features f(x) for its inputs.
 *
 * Training runs on features that were computed once (extract-features.ts), so it sees the map alone; the whole is put together
 * for the model file, which then is like any other: pictures in, logits out.
 */

import { Backbone } from "../backbones/backbone.js";
import { LinearMap } from "../backbones/linear-map.js";
import { eye } from "../engine/ops.generated.js";
import { scope } from "../engine/scope.js";
import { noGrad, type Tensor } from "../engine/tensor.js";
import { Linear } from "../nn/linear.js";
import { toFullPrecision } from "../nn/precision.js";

/** A frozen backbone and the map on top; its tensors are `body.…` and `map.weight`. */
export class ProbedBackbone extends Backbone {
  readonly width: number;
  readonly inputShape: readonly number[];
  readonly map: Linear;

  /** `body` comes with its values; the map is the identity until another is loaded. */
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

/** The map alone, for training on features: its tensor has the name it has in the whole. */
export function identityMap(width: number): LinearMap {
  const map = new LinearMap({ inputShape: [width] });
  becomeIdentity(map.map);
  return map;
}

function becomeIdentity({ weight, inputs }: Linear): void {
  scope(() => noGrad(() => weight.copy_(eye(inputs))));
}
