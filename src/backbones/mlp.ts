/**
 * Linear layers with ReLU, as in DomainBed for vector inputs. Dropout is applied before each ReLU. The parameter names
 * are DomainBed's.
 */

import type { Tensor } from "../engine/tensor.js";
import { UsageError } from "../errors.js";
import { Dropout } from "../nn/dropout.js";
import { Linear } from "../nn/linear.js";
import { Sequential } from "../nn/module.js";
import { toFullPrecision } from "../nn/precision.js";
import { Backbone, type BackboneOptions, defineBackbone, vectorSize } from "./backbone.js";

const ID = "mlp";

export interface MlpOptions extends BackboneOptions {
  /** The number of outputs. The default, also for a backbone, is the width of the hidden layers. */
  outputs?: number;
}

export class Mlp extends Backbone {
  /** The number of outputs. */
  readonly width: number;
  readonly inputShape: readonly number[];
  readonly input: Linear;
  readonly dropout: Dropout;
  readonly hiddens: Sequential;
  readonly output: Linear;

  /** `depth` is the number of linear layers, including input and output. */
  constructor(options: MlpOptions) {
    super();
    const { width = 256, depth = 3, dropout = 0, outputs = width } = options;
    if (!Number.isInteger(depth) || depth < 2) {
      throw new UsageError(`backbone ${ID}: expected a depth of 2 or more linear layers, got ${depth}`);
    }
    const inputs = vectorSize(ID, options);
    this.inputShape = options.inputShape ?? [inputs];
    this.width = outputs;
    this.input = new Linear(inputs, width);
    this.dropout = new Dropout(dropout);
    this.hiddens = new Sequential(...Array.from({ length: depth - 2 }, () => new Linear(width, width)));
    this.output = new Linear(width, outputs);
  }

  forward(x: Tensor): Tensor {
    const layers = [this.input, ...(this.hiddens.layers as readonly Linear[])];
    const flat = x.shape.length === 2 ? x : x.flatten(1);
    const last = layers.reduce((value, layer) => this.dropout.forward(layer.forward(value)).relu_(), flat);
    return toFullPrecision(this.output.forward(last));
  }
}

export const mlp = defineBackbone({
  id: ID,
  title: "MLP",
  paper: "Gulrajani & Lopez-Paz, In Search of Lost Domain Generalization, ICLR 2021, https://arxiv.org/abs/2007.01434",
  build: (options = {}) => new Mlp(options),
});
