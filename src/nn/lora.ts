/**
 * LoRA (Hu et al., 2022, https://arxiv.org/abs/2106.09685): a linear layer's weight W stays as it is, and a product of two thin
 * matrices is trained beside it, y = W·x + b + (alpha/rank)·B·A·x. A starts at random and B at 0, so that training starts from the
 * network as it was. For use the product is added to W, and the network is one without LoRA.
 *
 * Parts of a layer's outputs can be adapted alone: of q, k and v in one matrix, usually q and v.
 */

import { cat, empty, linear, zeros } from "../engine/ops.generated.js";
import type { Random } from "../engine/random.js";
import { noGrad, type Tensor } from "../engine/tensor.js";
import { UsageError } from "../errors.js";
import { Module, Parameter } from "./module.js";
import { toComputePrecision } from "./precision.js";

export interface LoraOptions {
  readonly rank: number;
  /** The product counts alpha/rank times. */
  readonly alpha: number;
}

export class Lora extends Module {
  readonly a: Parameter; // [parts · rank, inputs]
  readonly b: Parameter; // [parts · width of a part, rank]
  private readonly scale: number;
  private readonly rank: number;

  /** `adapted` says for each of the equal parts of the outputs whether it is adapted. */
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
    const bound = 1 / Math.sqrt(this.a.size(1)); // as a linear layer starts
    random.for("a").uniform_(this.a, -bound, bound);
    this.b.zero_();
  }

  /** B with the parts in their places and zeros elsewhere, [outputs, parts · rank]. */
  private whole(): Tensor {
    const { adapted, rank, outputs, a, b } = this;
    const width = outputs / adapted.length;
    const columns = a.size(0);
    const nothing = (height: number, size: number): Tensor =>
      zeros([height, size], { dtype: b.dtype, device: b.device });
    let part = 0;
    const rows = adapted.map((isAdapted) => {
      if (!isAdapted) return nothing(width, columns);
      const [before, after] = [part * rank, columns - (part + 1) * rank];
      const own = b.narrow(0, part++ * width, width);
      if (before + after === 0) return own;
      return cat(
        [...(before > 0 ? [nothing(width, before)] : []), own, ...(after > 0 ? [nothing(width, after)] : [])],
        1,
      );
    });
    return rows.length === 1 ? rows[0] : cat(rows);
  }

  /** What is added to the layer's output. */
  forward(x: Tensor): Tensor {
    const inner = linear(toComputePrecision(x), toComputePrecision(this.a), null);
    return linear(inner, toComputePrecision(this.whole().mul(this.scale)), null);
  }

  /** What is added to the layer's weight, [outputs, inputs]. */
  product(): Tensor {
    return noGrad(() => this.whole().matmul(this.a).mul_(this.scale));
  }
}

/** A module's tensors by name with every LoRA added into the weight beside it: those of the same network without LoRA. */
export function mergedState(module: Module): Map<string, Tensor> {
  const state = module.stateDict();
  for (const [name, each] of module.modules()) {
    if (!(each instanceof Lora)) continue;
    const beside = name.replace(/lora$/, "weight");
    state.set(
      beside,
      noGrad(() => state.get(beside)!.add(each.product())),
    );
    for (const own of each.stateDict().keys()) state.delete(`${name}.${own}`);
  }
  return state;
}
