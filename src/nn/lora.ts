/**
 * LoRA (Hu et al., 2022, https://arxiv.org/abs/2106.09685). The weight W of a linear layer stays fixed, and the product
 * of two low-rank matrices is trained in addition: y = W·x + b + (alpha/rank)·B·A·x. A is initialized randomly and B
 * with 0, so training starts from the original network. For inference the product is added to W, which gives a network
 * without LoRA.
 *
 * It is possible to adapt only parts of the outputs. If q, k and v are one matrix, usually q and v are adapted.
 */

import { cat, empty, linear, zeros } from "../engine/ops.generated.js";
import type { Random } from "../engine/random.js";
import { noGrad, type Tensor } from "../engine/tensor.js";
import { UsageError } from "../errors.js";
import { Module, Parameter } from "./module.js";
import { toComputePrecision } from "./precision.js";

export interface LoraOptions {
  readonly rank: number;
  /** The product is scaled by alpha/rank. */
  readonly alpha: number;
}

export class Lora extends Module {
  readonly a: Parameter; // [parts · rank, inputs]
  readonly b: Parameter; // [parts · width of a part, rank]
  private readonly scale: number;
  private readonly rank: number;

  /** `adapted` contains one boolean for each of the equal parts of the outputs: whether it is adapted. */
  constructor(
    inputs: number,
    private readonly outputs: number,
    private readonly adapted: readonly boolean[],
    { rank, alpha }: LoraOptions,
  ) {
    super();
    if (!(Number.isSafeInteger(rank) && rank >= 1))
      throw new UsageError(`LoRA: the rank must be a whole number from 1, got ${rank}`);
    const count = adapted.filter(Boolean).length;
    if (count === 0 || outputs % adapted.length !== 0)
      throw new UsageError(`LoRA: ${outputs} outputs do not divide into ${adapted.length} parts, or none is adapted`);
    this.a = new Parameter(empty([count * rank, inputs]));
    this.b = new Parameter(empty([(count * outputs) / adapted.length, rank]));
    this.scale = alpha / rank;
    this.rank = rank;
  }

  protected override reset(random: Random): void {
    const bound = 1 / Math.sqrt(this.a.size(1)); // as in a linear layer
    random.for("a").uniform_(this.a, -bound, bound);
    this.b.zero_();
  }

  /** Returns B with zeros for the parts that are not adapted, [outputs, parts · rank]. */
  private paddedB(): Tensor {
    const { adapted, rank, outputs, a, b } = this;
    const width = outputs / adapted.length;
    const columns = a.size(0);
    const zeroBlock = (height: number, size: number): Tensor =>
      zeros([height, size], { dtype: b.dtype, device: b.device });
    let part = 0;
    const rows = adapted.map((isAdapted) => {
      if (!isAdapted) return zeroBlock(width, columns);
      const [before, after] = [part * rank, columns - (part + 1) * rank];
      const own = b.narrow(0, part++ * width, width);
      if (before + after === 0) return own;
      return cat(
        [...(before > 0 ? [zeroBlock(width, before)] : []), own, ...(after > 0 ? [zeroBlock(width, after)] : [])],
        1,
      );
    });
    return rows.length === 1 ? rows[0] : cat(rows);
  }

  /** Returns the term that is added to the layer's output. */
  forward(x: Tensor): Tensor {
    const inner = linear(toComputePrecision(x), toComputePrecision(this.a), null);
    return linear(inner, toComputePrecision(this.paddedB().mul(this.scale)), null);
  }

  /** Returns the term that is added to the layer's weight, [outputs, inputs]. */
  product(): Tensor {
    return noGrad(() => this.paddedB().matmul(this.a).mul_(this.scale));
  }
}

/** Returns a module's state dict with every LoRA merged into its weight, as in the same network without LoRA. */
export function mergedState(module: Module): Map<string, Tensor> {
  const state = module.stateDict();
  for (const [name, each] of module.modules()) {
    if (!(each instanceof Lora)) continue;
    const weightName = name.replace(/lora$/, "weight");
    state.set(
      weightName,
      noGrad(() => state.get(weightName)!.add(each.product())),
    );
    for (const own of each.stateDict().keys()) state.delete(`${name}.${own}`);
  }
  return state;
}
