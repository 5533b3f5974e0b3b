/**
 * Batch normalisation, and its fold into the convolution before it.
 *
 * The field freezes batch norm when it fine-tunes: the running statistics are fixed and used also in training, while
 * weight and bias go on learning. The layer is then the affine map x·s + t, s = weight/√(var + eps), t = bias − mean·s,
 * and conv(x, W)·s + t = conv(x, W·s) + t: the product goes into the weight, which is smaller than the activations, and
 * the activations are passed over once less forward and backward. Gradients reach W, weight and bias through the fold.
 */

import { unknownName } from "../closest-name.js";
import { fusedKernelsProblem } from "../engine/device.js";
import { batchNorm, biasClamp, empty, foldNorm, ones, zeros } from "../engine/ops.generated.js";
import type { Random } from "../engine/random.js";
import { keep } from "../engine/scope.js";
import { noGrad, type Tensor } from "../engine/tensor.js";
import { UsageError } from "../errors.js";
import { relu6_, silu } from "./activation.js";
import type { Conv2d } from "./conv.js";
import { Layer, type Module, Parameter, StateBuffer } from "./module.js";
import { toComputePrecision, toFullPrecision } from "./precision.js";

/** Batch norm over the channels of [n, c] or [n, c, h, w]. */
export class BatchNorm extends Layer {
  readonly weight: Parameter;
  readonly bias: Parameter;
  readonly running_mean: StateBuffer;
  readonly running_var: StateBuffer;
  readonly num_batches_tracked: StateBuffer;
  /** Fixed statistics, also in training; weight and bias stay trainable. */
  frozen = false;
  /** Whether `convNorm` may fold it. Off only to compare with the plain path. */
  foldable = true;
  /** Where folds are kept of a network whose weights no longer change; its owner frees them. */
  keptFolds?: Map<Conv2d, Fold>;
  readonly eps: number;
  /** The share of the batch in a new running statistic; null for the mean over all batches so far. */
  momentum: number | null;

  constructor(
    readonly channels: number,
    { eps = 1e-5, momentum = 0.1 as number | null } = {},
  ) {
    super();
    this.weight = new Parameter(empty([channels]));
    this.bias = new Parameter(empty([channels]));
    this.running_mean = new StateBuffer(zeros([channels]));
    this.running_var = new StateBuffer(ones([channels]));
    this.num_batches_tracked = new StateBuffer(zeros([], { dtype: "int64" }));
    this.eps = eps;
    this.momentum = momentum;
  }

  protected override reset(_random: Random): void {
    this.weight.fill_(1);
    this.bias.zero_();
    this.resetStatistics();
  }

  /** Running statistics as at the start: mean 0, variance 1, no batch seen. */
  resetStatistics(): void {
    this.running_mean.zero_();
    this.running_var.fill_(1);
    this.num_batches_tracked.zero_();
  }

  /** Whether the batch's own statistics are used, and recorded. */
  get usesBatch(): boolean {
    return this.training && !this.frozen;
  }

  forward(x: Tensor): Tensor {
    let momentum = this.momentum ?? 0;
    if (this.usesBatch) {
      if (x.numel <= this.channels) {
        // The variance of one number is no number, and would stay in the running one.
        const need = "training needs at least two values a channel";
        throw new UsageError(
          `${this.constructor.name}: ${need}, got ${x.describe()}; take a larger batch, or freeze it`,
        );
      }
      this.num_batches_tracked.add_(1);
      if (this.momentum === null) momentum = 1 / this.num_batches_tracked.item();
    }
    const { weight, bias, running_mean, running_var, eps } = this;
    // The operator itself sums in float32 when x is bfloat16 and the parameters are float32; with float16 not everywhere.
    const input = x.dtype === "bfloat16" ? x : toFullPrecision(x);
    const y = batchNorm(input, weight, bias, running_mean, running_var, this.usesBatch, momentum, eps, true);
    return x.dtype === y.dtype ? y : y.toDType(x.dtype);
  }

  /** The layer as x·scale + shift, while it uses fixed statistics; differentiable in weight and bias. */
  affine(): { scale: Tensor; shift: Tensor } {
    const scale = this.weight.mul(this.running_var.add(this.eps).rsqrt());
    return { scale, shift: this.bias.addcmul(this.running_mean, scale, { value: -1 }) };
  }
}

/** A convolution's weight and bias with the batch norm after it. */
export interface Fold {
  readonly weight: Tensor;
  readonly bias: Tensor;
}

export class BatchNorm1d extends BatchNorm {}
export class BatchNorm2d extends BatchNorm {}

/** What follows a convolution and its norm: the residual is added, then the activation is applied. */
export interface After {
  readonly residual?: Tensor;
  readonly act?: "relu" | "relu6" | "silu";
}

/** The range an activation clamps to; SiLU comes after it. */
const RANGES = {
  none: [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY],
  relu: [0, Number.POSITIVE_INFINITY],
  relu6: [0, 6],
  silu: [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY],
} as const;

/** A convolution, the batch norm after it, in one convolution where the statistics are fixed, and what follows. */
export function convNorm(conv: Conv2d, norm: BatchNorm2d, x: Tensor, { residual, act }: After = {}): Tensor {
  const folds = !norm.usesBatch && norm.foldable && foldPays(conv, x);
  if (folds && conv.bias === null && fusedKernelsProblem(x.device) === "")
    return fused(conv, norm, x, { residual, act });
  // In place: neither a convolution nor a norm needs its own output for its gradient.
  const fold = folds ? foldOf(conv, norm) : undefined;
  const y = fold ? conv.convolve(x, fold.weight, fold.bias) : norm.forward(conv.forward(x));
  const sum = residual ? y.add_(residual) : y;
  if (act === undefined) return sum;
  if (act === "silu") return silu(sum);
  return act === "relu" ? sum.relu_() : relu6_(sum);
}

function foldOf(conv: Conv2d, norm: BatchNorm2d): Fold {
  const { keptFolds } = norm;
  if (!keptFolds) return folded(conv, norm);
  const before = keptFolds.get(conv);
  if (before) return before;
  const { weight, bias } = noGrad(() => folded(conv, norm));
  const fold = { weight: keep(weight), bias: keep(bias) };
  keptFolds.set(conv, fold);
  return fold;
}

function folded(conv: Conv2d, norm: BatchNorm2d): Fold {
  const { scale, shift } = norm.affine();
  const weight = conv.weight.mul(scale.view(-1, 1, 1, 1));
  return { weight, bias: conv.bias ? shift.add(conv.bias.mul(scale)) : shift };
}

/** The same in three operators; on a GPU the first and the last are kernels of our own (native/src/fused.cc). */
function fused(conv: Conv2d, norm: BatchNorm2d, x: Tensor, { residual, act }: After): Tensor {
  const { weight, bias, running_mean, running_var, eps } = norm;
  const input = toComputePrecision(x);
  const half = input.dtype === "bfloat16";
  const [kernel, shift] = foldNorm(conv.weight, weight, bias, running_mean, running_var, eps, half);
  const [low, high] = RANGES[act ?? "none"];
  const y = biasClamp(conv.convolve(input, kernel, null), shift, residual ?? null, low, high);
  return act === "silu" ? silu(y) : y;
}

/**
 * Whether the fold, which passes over the weight, is less work than the norm, which passes over the map. On the CPU a small
 * batch has more weights than map in the last stages of a ResNet; on a GPU both are short, and a norm is more launches.
 */
function foldPays(conv: Conv2d, x: Tensor): boolean {
  if (x.device !== "cpu" || x.shape.length !== 4) return true;
  const [rows, , height, width] = x.shape;
  return (rows * conv.outputs * height * width) / conv.stride ** 2 > conv.weight.numel;
}

/** What becomes of the batch norms of a network that starts from trained weights. */
export interface BatchNormUse {
  /** `frozen`: the statistics stay as loaded, also in training, and weight and bias learn on; `trained`: all learn. */
  batchNorm?: "frozen" | "trained";
  /** Whether fixed statistics are folded into the convolutions: the same numbers but for rounding, and faster. */
  foldBatchNorm?: boolean;
}

const USES = ["frozen", "trained"];

/** Sets every batch norm in a module. */
export function useBatchNorm(module: Module, { batchNorm = "frozen", foldBatchNorm = true }: BatchNormUse): void {
  if (!USES.includes(batchNorm)) throw new UsageError(unknownName("use of batch norm", batchNorm, USES));
  for (const [, layer] of module.modules()) {
    if (!(layer instanceof BatchNorm)) continue;
    layer.frozen = batchNorm === "frozen";
    layer.foldable = foldBatchNorm;
  }
}
