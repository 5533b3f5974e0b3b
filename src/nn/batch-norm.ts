/**
 * Batch normalization, and folding it into the convolution before it.
 *
 * Fine-tuning usually freezes batch norm: the running statistics are fixed and also used in training, while weight and
 * bias are still trained. The layer is then the affine map x·s + t with s = weight/√(var + eps) and t = bias − mean·s,
 * and conv(x, W)·s + t = conv(x, W·s) + t. Folding applies s to the convolution's weight, which is smaller than the
 * feature map, and so saves one pass over the feature map in both the forward and the backward pass. Gradients flow
 * through the fold to W, weight and bias.
 */

import { unknownName } from "../closest-name.js";
import { fusedKernelsProblem } from "../engine/device.js";
import {
  batchNorm,
  batchNormUpdateStats,
  biasClamp,
  biasClampTwice,
  depthwiseClamp,
  empty,
  foldNorm,
  foldNorms,
  ones,
  zeros,
} from "../engine/ops.generated.js";
import type { Random } from "../engine/random.js";
import { keep } from "../engine/scope.js";
import { noGrad, type Tensor } from "../engine/tensor.js";
import { UsageError } from "../errors.js";
import { relu6_, silu } from "./activation.js";
import type { Conv2d } from "./conv.js";
import { usesFusedKernels } from "./fused-kernels.js";
import { Layer, type Module, Parameter, StateBuffer } from "./module.js";
import { toComputePrecision, toFullPrecision } from "./precision.js";

/** The weight and bias of a convolution with the following batch norm folded in. */
export interface Fold {
  readonly weight: Tensor;
  readonly bias: Tensor;
}

/** Batch norm over the channels of [n, c] or [n, c, h, w]. */
export class BatchNorm extends Layer {
  readonly weight: Parameter;
  readonly bias: Parameter;
  readonly running_mean: StateBuffer;
  readonly running_var: StateBuffer;
  readonly num_batches_tracked: StateBuffer;
  /** Whether the statistics are fixed, also in training. Weight and bias remain trainable. */
  frozen = false;
  /** Whether `convNorm` may fold this layer. It is only false to compare with the unfolded computation. */
  foldable = true;
  /** A cache of folds, for a network whose weights no longer change. Its owner frees them. */
  keptFolds?: Map<Conv2d, Fold>;
  readonly eps: number;
  /** The weight of the batch in a new running statistic. With null it is the mean over all batches so far. */
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

  /** Resets the running statistics: mean 0, variance 1, no batches. */
  resetStatistics(): void {
    this.running_mean.zero_();
    this.running_var.fill_(1);
    this.num_batches_tracked.zero_();
  }

  /** Whether the layer normalizes with the statistics of the batch and updates the running statistics. */
  get usesBatch(): boolean {
    return this.training && !this.frozen;
  }

  /** Checks a batch, counts it, and returns its weight in the running statistics. */
  private countBatch(x: Tensor): number {
    if (x.numel <= this.channels) {
      // The variance of a single number is NaN, which would persist in the running variance.
      const need = "training needs at least two values a channel";
      throw new UsageError(`${this.constructor.name}: ${need}, got ${x.describe()}; take a larger batch, or freeze it`);
    }
    this.num_batches_tracked.add_(1);
    return this.momentum ?? 1 / this.num_batches_tracked.item();
  }

  forward(x: Tensor): Tensor {
    const momentum = this.usesBatch ? this.countBatch(x) : (this.momentum ?? 0);
    const { weight, bias, running_mean, running_var, eps } = this;
    // The operator accumulates in float32 if x is bfloat16 and the parameters are float32. For float16 this does not
    // hold on every device.
    const input = x.dtype === "bfloat16" ? x : toFullPrecision(x);
    const y = batchNorm(input, weight, bias, running_mean, running_var, this.usesBatch, momentum, eps, true);
    return x.dtype === y.dtype ? y : y.toDType(x.dtype);
  }

  /** Returns the layer as x·scale + shift for fixed statistics. Both are differentiable in weight and bias. */
  affine(): { scale: Tensor; shift: Tensor } {
    const scale = this.weight.mul(this.running_var.add(this.eps).rsqrt());
    return { scale, shift: this.bias.addcmul(this.running_mean, scale, { value: -1 }) };
  }

  /**
   * Returns the layer as x·scale + shift with the statistics of the batch, without gradients, and updates the running statistics. The
   * input of the layer is x + bias: the bias only changes the running mean.
   */
  batchAffine(x: Tensor, bias: Tensor): { scale: Tensor; shift: Tensor } {
    return noGrad(() => {
      const momentum = this.countBatch(x);
      const [mean, variance] = batchNormUpdateStats(x, null, null, 0); // in float32 for bfloat16
      const n = x.numel / this.channels;
      this.running_mean.lerp_(mean.add(bias), momentum);
      this.running_var.lerp_(variance.mul(n / (n - 1)), momentum);
      const scale = this.weight.mul(variance.add(this.eps).rsqrt());
      return { scale, shift: this.bias.addcmul(mean, scale, { value: -1 }) };
    });
  }
}

export class BatchNorm1d extends BatchNorm {}
export class BatchNorm2d extends BatchNorm {}

/** A residual that is computed from `x` by a convolution and its norm. */
export interface Shortcut {
  readonly layer: { readonly conv: Conv2d; readonly norm: BatchNorm2d };
  readonly x: Tensor;
}

/** Operations after a convolution and its norm: add the residual, then apply the activation. */
export interface After {
  readonly residual?: Tensor | Shortcut;
  readonly act?: "relu" | "relu6" | "silu";
}

/** The range that an activation clamps to. SiLU is applied separately. */
const RANGES = {
  none: [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY],
  relu: [0, Number.POSITIVE_INFINITY],
  relu6: [0, 6],
  silu: [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY],
} as const;

/**
 * Applies a convolution, the batch norm after it, and the operations in `After`. If the statistics are fixed, the batch
 * norm is folded into the convolution.
 */
export function convNorm(conv: Conv2d, norm: BatchNorm2d, x: Tensor, { residual, act }: After = {}): Tensor {
  if (isFused(conv, norm, x)) return fused(conv, norm, x, { residual, act });
  const other = residual && mapOf(residual);
  // The next operations run in place, because convolutions and norms do not need their output for the gradient.
  const fold = isFolded(conv, norm, x) ? foldOf(conv, norm) : undefined;
  const y = fold ? conv.convolve(x, fold.weight, fold.bias) : norm.forward(conv.forward(x));
  return activated(other ? y.add_(other) : y, act);
}

/**
 * Computes `convNorm` for two uses: its result as two tensors. On a GPU in mixed precision, the kernel for the gradient of
 * the activation adds the gradients of both. Otherwise both are the same tensor.
 */
export function convNormTwice(conv: Conv2d, norm: BatchNorm2d, x: Tensor, after: After): readonly [Tensor, Tensor] {
  if (isFused(conv, norm, x) && after.act !== "silu" && usesFusedKernels(x)) {
    const [first, second] = biasClampTwice(...beforeClamp(conv, norm, x, after));
    return [first, second];
  }
  const only = convNorm(conv, norm, x, after);
  return [only, only];
}

const isFolded = (conv: Conv2d, norm: BatchNorm2d, x: Tensor): boolean =>
  !norm.usesBatch && norm.foldable && isFoldCheaper(conv, x);

const isFused = (conv: Conv2d, norm: BatchNorm2d, x: Tensor): boolean =>
  isFolded(conv, norm, x) && conv.bias === null && fusedKernelsProblem(x.device) === "";

const mapOf = (residual: Tensor | Shortcut): Tensor =>
  "layer" in residual ? convNorm(residual.layer.conv, residual.layer.norm, residual.x) : residual;

/** The activation, in place. */
function activated(x: Tensor, act: After["act"]): Tensor {
  if (act === undefined) return x;
  if (act === "silu") return silu(x);
  return act === "relu" ? x.relu_() : relu6_(x);
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

/**
 * Computes the folded convolution with three operators. On a GPU the first and the last are custom kernels
 * (native/src/fused.cc), and a depthwise convolution and the clamp after it are one.
 */
function fused(conv: Conv2d, norm: BatchNorm2d, x: Tensor, after: After): Tensor {
  const { residual, act } = after;
  if (conv.isDepthwise3 && !residual && (act === "relu" || act === "relu6") && x.device !== "cpu") {
    const { input, weight, bias } = foldedFor(conv, norm, x);
    const [low, high] = RANGES[act];
    return depthwiseClamp(input, weight, bias, conv.stride, low, high);
  }
  const y = biasClamp(...beforeClamp(conv, norm, x, after));
  return act === "silu" ? silu(y) : y;
}

/** Returns the arguments of the operator after the convolution. */
function beforeClamp(
  conv: Conv2d,
  norm: BatchNorm2d,
  x: Tensor,
  { residual, act = "none" }: WithRange,
): ClampArguments {
  const [y, bias] = convolved(conv, norm, x);
  const [low, high] = RANGES[act];
  if (!residual || !("layer" in residual)) return [y, bias, residual ?? null, low, high];
  const { layer, x: source } = residual;
  if (!isFused(layer.conv, layer.norm, source) || !usesFusedKernels(source))
    return [y, bias, mapOf(residual), low, high];
  // One pass adds both biases, and the backward pass sums their gradient once.
  const [other, shift] = convolved(layer.conv, layer.norm, source);
  return [y, bias.add(shift), other, low, high];
}

type WithRange = Omit<After, "act"> & { readonly act?: keyof typeof RANGES };
type ClampArguments = [y: Tensor, bias: Tensor, residual: Tensor | null, low: number, high: number];

/** Returns the folded convolution of x, and the bias that remains to be added. */
function convolved(conv: Conv2d, norm: BatchNorm2d, x: Tensor): [Tensor, Tensor] {
  const { input, weight, bias } = foldedFor(conv, norm, x);
  return [conv.convolve(input, weight, null), bias];
}

function foldedFor(conv: Conv2d, norm: BatchNorm2d, x: Tensor): Fold & { input: Tensor } {
  const input = toComputePrecision(x);
  together?.layers.set(conv, norm);
  return { input, ...(together?.folds.get(conv) ?? foldedOnDevice(conv, norm, input.dtype === "bfloat16")) };
}

function foldedOnDevice(
  conv: Conv2d,
  { weight, bias, running_mean, running_var, eps }: BatchNorm2d,
  half: boolean,
): Fold {
  const [kernel, shift] = foldNorm(conv.weight, weight, bias, running_mean, running_var, eps, half);
  return { weight: kernel, bias: shift };
}

/** The layers that a forward pass folds, and their folds if they were made before it. */
interface Together {
  readonly layers: Map<Conv2d, BatchNorm2d>;
  readonly folds: ReadonlyMap<Conv2d, Fold>;
}
let together: Together | undefined;
const layersOf = new WeakMap<Module, Map<Conv2d, BatchNorm2d>>();

/**
 * Runs the forward pass of a network with the folds of all its layers made in one kernel, because each alone is as short
 * as the start of a kernel. The first pass finds out which layers the network folds.
 */
export function foldingTogether<T>(network: Module, x: Tensor, forward: () => T): T {
  if (!usesFusedKernels(x)) return forward();
  const layers = layersOf.get(network) ?? new Map<Conv2d, BatchNorm2d>();
  layersOf.set(network, layers);
  const before = together;
  together = { layers, folds: foldsOf([...layers].filter(([, norm]) => !norm.usesBatch && norm.foldable)) };
  try {
    return forward();
  } finally {
    for (const { weight, bias } of together.folds.values()) {
      weight.dispose();
      bias.dispose();
    }
    together = before;
  }
}

function foldsOf(layers: readonly (readonly [Conv2d, BatchNorm2d])[]): Map<Conv2d, Fold> {
  if (layers.length === 0) return new Map();
  const norms = layers.map(([, norm]) => norm);
  const made = foldNorms(
    [
      ...layers.map(([conv]) => conv.weight),
      ...norms.map(({ weight }) => weight),
      ...norms.map(({ bias }) => bias),
      ...norms.map((norm) => norm.running_mean),
      ...norms.map((norm) => norm.running_var),
    ],
    norms.map(({ eps }) => eps),
    true,
  );
  return new Map(layers.map(([conv], i) => [conv, { weight: made[i], bias: made[layers.length + i] }]));
}

/**
 * Whether folding, which is a pass over the weight, is less work than the norm, which is a pass over the feature map.
 * On the CPU, the last stages of a ResNet have more weights than activations for a small batch. On a GPU both are fast,
 * and a separate norm needs more kernel launches.
 */
function isFoldCheaper(conv: Conv2d, x: Tensor): boolean {
  if (x.device !== "cpu" || x.shape.length !== 4) return true;
  const [rows, , height, width] = x.shape;
  return (rows * conv.outputs * height * width) / conv.stride ** 2 > conv.weight.numel;
}

/** How a network that starts from pretrained weights uses batch norm. */
export interface BatchNormUse {
  /**
   * `frozen`: the running statistics keep their loaded values, also in training, while weight and bias are trained.
   * `trained`: everything is trained.
   */
  batchNorm?: "frozen" | "trained";
  /** Whether to fold fixed statistics into the convolutions. The result is the same up to rounding, and faster. */
  foldBatchNorm?: boolean;
}

const USES = ["frozen", "trained"];

/** Configures every batch norm of a module. */
export function useBatchNorm(module: Module, { batchNorm = "frozen", foldBatchNorm = true }: BatchNormUse): void {
  if (!USES.includes(batchNorm)) throw new UsageError(unknownName("use of batch norm", batchNorm, USES));
  for (const [, layer] of module.modules()) {
    if (!(layer instanceof BatchNorm)) continue;
    layer.frozen = batchNorm === "frozen";
    layer.foldable = foldBatchNorm;
  }
}
