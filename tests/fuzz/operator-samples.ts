/**
 * Arguments that operators accept, by name: what the fuzzer starts from. Random shapes alone rarely get past a
 * convolution's first check; a good call with one argument changed reaches the code behind it.
 */

import type { Philox } from "../../src/engine/philox.js";
import { type Tensor, tensor } from "../../src/engine/tensor.js";

export type NamedArguments = Record<string, unknown>;

const count = (shape: readonly number[]): number => shape.reduce((product, size) => product * size, 1);

/** Makes the tensors of a sample. */
export class Maker {
  constructor(readonly random: Philox) {}

  /** Normal numbers, now and then asking for a gradient. */
  t(...shape: number[]): Tensor {
    const values = Float32Array.from({ length: count(shape) }, () => this.random.normal());
    const made = tensor(values, { shape });
    return this.random.bernoulli(0.3) ? made.requiresGrad_() : made;
  }

  /** Positive numbers, float64. */
  d(...shape: number[]): Tensor {
    return tensor(
      Float64Array.from({ length: count(shape) }, () => this.random.uniform(0.1, 2)),
      { shape },
    );
  }

  /** Integers in [0, high). */
  i(high: number, ...shape: number[]): Tensor {
    return tensor(
      BigInt64Array.from({ length: count(shape) }, () => BigInt(this.random.integer(high))),
      { shape },
    );
  }

  /** Truth values. */
  b(...shape: number[]): Tensor {
    return this.i(2, ...shape).toDType("bool");
  }
}

const pair = { self: (m: Maker) => m.t(2, 3), other: (m: Maker) => m.t(2, 3) };
const list = (m: Maker): Tensor[] => [m.t(2, 3).detach(), m.t(4).detach(), m.t().detach()];
const positive = (m: Maker): Tensor[] => list(m).map((x) => x.abs().add(0.1));
const reduction = (m: Maker): number => m.random.integer(3);

/** By operator, without overload where all overloads take the same. Anything not here gets `self` and random arguments. */
export const SAMPLES: Record<string, Record<string, unknown | ((m: Maker) => unknown)>> = {
  "aten::pow.Tensor_Scalar": { self: (m: Maker) => m.t(2, 3), exponent: 2 },
  "aten::clamp": { self: (m: Maker) => m.t(2, 3), min: -1, max: 1 },
  "aten::maximum": pair,
  "aten::minimum": pair,
  "aten::addcmul": { ...pair, tensor1: (m: Maker) => m.t(2, 3), tensor2: (m: Maker) => m.t(3) },
  "aten::addcmul_": { self: (m: Maker) => m.d(2, 3), tensor1: (m: Maker) => m.d(2, 3), tensor2: (m: Maker) => m.d(3) },
  "aten::addcdiv_": { self: (m: Maker) => m.d(2, 3), tensor1: (m: Maker) => m.d(2, 3), tensor2: (m: Maker) => m.d(3) },
  "aten::lerp": { self: (m: Maker) => m.t(2, 3), end: (m: Maker) => m.t(2, 3), weight: 0.3 },
  "aten::lerp_": { self: (m: Maker) => m.d(2, 3), end: (m: Maker) => m.d(2, 3), weight: 0.3 },
  "aten::where": { condition: (m: Maker) => m.b(2, 3), self: (m: Maker) => m.t(2, 3), other: (m: Maker) => m.t(3) },
  "aten::sum.dim_IntList": { self: (m: Maker) => m.t(2, 3, 4), dim: [1, 2], keepdim: true },
  "aten::mean.dim": { self: (m: Maker) => m.t(2, 3, 4), dim: [0, -1], keepdim: false },
  "aten::var": { self: (m: Maker) => m.t(2, 3, 4), dim: [1], correction: 1, keepdim: false },
  "aten::amax": { self: (m: Maker) => m.t(2, 3), dim: [1], keepdim: false },
  "aten::amin": { self: (m: Maker) => m.t(2, 3), dim: [1], keepdim: false },
  "aten::argmax": { self: (m: Maker) => m.t(2, 3), dim: 1, keepdim: false },
  "aten::linalg_vector_norm": { self: (m: Maker) => m.t(2, 3), ord: 2, dim: [1], keepdim: false },
  "aten::cumsum": { self: (m: Maker) => m.t(2, 3), dim: 1 },
  "aten::sort": { self: (m: Maker) => m.t(2, 3), dim: 1, descending: true },
  "aten::topk": { self: (m: Maker) => m.t(2, 5), k: 2, dim: 1, largest: true, sorted: true },
  "aten::quantile": { self: (m: Maker) => m.t(2, 5), q: (m: Maker) => tensor([m.random.uniform()]), dim: 1 },
  "aten::bincount": { self: (m: Maker) => m.i(5, 9), weights: (m: Maker) => m.t(9), minlength: 3 },
  "aten::view": { self: (m: Maker) => m.t(2, 3, 4), size: [6, 4] },
  "aten::reshape": { self: (m: Maker) => m.t(2, 3, 4), shape: [4, -1] },
  "aten::permute": { self: (m: Maker) => m.t(2, 3, 4), dims: [2, 0, 1] },
  "aten::transpose": { self: (m: Maker) => m.t(2, 3, 4), dim0: 0, dim1: 2 },
  "aten::expand": { self: (m: Maker) => m.t(2, 1), size: [3, 2, 4] },
  "aten::flatten": { self: (m: Maker) => m.t(2, 3, 4), start_dim: 1, end_dim: -1 },
  "aten::select": { self: (m: Maker) => m.t(2, 3), dim: 1, index: 2 },
  "aten::slice": { self: (m: Maker) => m.t(2, 7), dim: 1, start: 1, end: 6, step: 2 },
  "aten::narrow": { self: (m: Maker) => m.t(2, 7), dim: 1, start: 1, length: 3 },
  "aten::split": { self: (m: Maker) => m.t(7, 2), split_size: 3, dim: 0 },
  "aten::chunk": { self: (m: Maker) => m.t(7, 2), chunks: 3, dim: 0 },
  "aten::index_select": { self: (m: Maker) => m.t(5, 2), dim: 0, index: (m: Maker) => m.i(5, 4) },
  "aten::index_add_": {
    self: (m: Maker) => m.d(5, 2),
    dim: 0,
    index: (m: Maker) => m.i(5, 4),
    source: (m: Maker) => m.d(4, 2),
  },
  "aten::gather": { self: (m: Maker) => m.t(3, 4), dim: 1, index: (m: Maker) => m.i(4, 3, 2) },
  "aten::index": { self: (m: Maker) => m.t(5, 4), indices: (m: Maker) => [m.i(5, 3), null] },
  "aten::repeat": { self: (m: Maker) => m.t(2, 3), repeats: [2, 1, 3] },
  "aten::flip": { self: (m: Maker) => m.t(2, 3), dims: [0, 1] },
  "aten::as_strided": { self: (m: Maker) => m.t(4, 4), size: [2, 3], stride: [1, 4], storage_offset: 1 },
  "aten::diagonal": { self: (m: Maker) => m.t(3, 4), offset: 1, dim1: 0, dim2: 1 },
  "aten::cat": { tensors: (m: Maker) => [m.t(2, 3), m.t(1, 3)], dim: 0 },
  "aten::stack": { tensors: (m: Maker) => [m.t(2, 3), m.t(2, 3)], dim: 1 },
  "aten::empty": { size: [2, 3] },
  "aten::zeros": { size: [2, 3], dtype: "float32" },
  "aten::ones": { size: [2, 3] },
  "aten::full": { size: [2, 3], fill_value: 1.5 },
  "aten::eye": { n: 4 },
  "aten::arange": { start: 0, end: 10, step: 3 },
  "aten::fill_": { self: (m: Maker) => m.d(2, 3), value: 2 },
  "aten::copy_": { self: (m: Maker) => m.d(2, 3), src: (m: Maker) => m.t(3) },
  "aten::uniform_": { self: (m: Maker) => m.d(2, 3), from: -1, to: 1 },
  "aten::normal_": { self: (m: Maker) => m.d(2, 3), mean: 0, std: 1 },
  "aten::bernoulli_": { self: (m: Maker) => m.d(2, 3), p: 0.5 },
  "aten::randperm": { n: 9 },
  "aten::one_hot": { self: (m: Maker) => m.i(4, 3, 2), num_classes: 5 },
  "aten::to.dtype": { self: (m: Maker) => m.t(2, 3), dtype: "bfloat16" },
  "aten::to.device": { self: (m: Maker) => m.t(2, 3), device: "cpu", dtype: "float64" },
  "aten::_to_copy": { self: (m: Maker) => m.t(2, 3), dtype: "float16" },
  "aten::matmul": { self: (m: Maker) => m.t(2, 3, 4), other: (m: Maker) => m.t(4, 5) },
  "aten::mm": { self: (m: Maker) => m.t(3, 4), mat2: (m: Maker) => m.t(4, 5) },
  "aten::bmm": { self: (m: Maker) => m.t(2, 3, 4), mat2: (m: Maker) => m.t(2, 4, 5) },
  "aten::addmm": { self: (m: Maker) => m.t(5), mat1: (m: Maker) => m.t(3, 4), mat2: (m: Maker) => m.t(4, 5) },
  "aten::baddbmm": {
    self: (m: Maker) => m.t(2, 3, 5),
    batch1: (m: Maker) => m.t(2, 3, 4),
    batch2: (m: Maker) => m.t(2, 4, 5),
  },
  "aten::linalg_svd": { A: (m: Maker) => m.t(4, 3), full_matrices: false },
  "aten::linalg_svdvals": { A: (m: Maker) => m.t(4, 3) },
  "aten::linalg_eigh": { self: (m: Maker) => m.t(4, 4), UPLO: "L" },
  "aten::linear": { input: (m: Maker) => m.t(2, 4), weight: (m: Maker) => m.t(3, 4), bias: (m: Maker) => m.t(3) },
  "aten::conv2d": {
    input: (m: Maker) => m.t(2, 4, 6, 5),
    weight: (m: Maker) => m.t(6, 2, 3, 3),
    bias: (m: Maker) => m.t(6),
    stride: [2, 1],
    padding: [1, 1],
    dilation: 1,
    groups: 2,
  },
  "aten::batch_norm": {
    input: (m: Maker) => m.t(4, 3, 2, 2),
    weight: (m: Maker) => m.t(3),
    bias: (m: Maker) => m.t(3),
    running_mean: (m: Maker) => m.t(3).detach(),
    running_var: (m: Maker) => m.d(3).toDType("float32"),
    training: true,
    momentum: 0.1,
    eps: 1e-5,
    cudnn_enabled: true,
  },
  "aten::group_norm": {
    input: (m: Maker) => m.t(2, 6, 3, 3),
    num_groups: 3,
    weight: (m: Maker) => m.t(6),
    bias: (m: Maker) => m.t(6),
    eps: 1e-5,
  },
  "aten::hardtanh": { self: (m: Maker) => m.t(2, 3), min_val: 0, max_val: 6 },
  "aten::hardtanh_": { self: (m: Maker) => m.d(2, 3), min_val: 0, max_val: 6 },
  "aten::max_pool2d": {
    self: (m: Maker) => m.t(1, 2, 6, 6),
    kernel_size: 3,
    stride: 2,
    padding: 1,
    dilation: 1,
    ceil_mode: false,
  },
  "aten::avg_pool2d": {
    self: (m: Maker) => m.t(1, 2, 6, 6),
    kernel_size: [2, 3],
    stride: [2, 1],
    padding: [1, 0],
    ceil_mode: true,
  },
  "aten::adaptive_avg_pool2d": { self: (m: Maker) => m.t(1, 2, 6, 6), output_size: [1, 2] },
  "aten::embedding": { weight: (m: Maker) => m.t(6, 3), indices: (m: Maker) => m.i(6, 2, 2), padding_idx: 0 },
  "aten::dropout": { input: (m: Maker) => m.t(2, 3), p: 0.5, train: true },
  "aten::softmax": { self: (m: Maker) => m.t(2, 3), dim: 1 },
  "aten::log_softmax": { self: (m: Maker) => m.t(2, 3), dim: 1 },
  "aten::cross_entropy_loss": {
    self: (m: Maker) => m.t(4, 3),
    target: (m: Maker) => m.i(3, 4),
    weight: (m: Maker) => m.d(3).toDType("float32"),
    reduction,
    ignore_index: -100,
    label_smoothing: 0.1,
  },
  "aten::nll_loss": {
    self: (m: Maker) => m.t(4, 3),
    target: (m: Maker) => m.i(3, 4),
    weight: null,
    reduction,
    ignore_index: -100,
  },
  "aten::mse_loss": { self: (m: Maker) => m.t(4, 3), target: (m: Maker) => m.t(4, 3), reduction },
  "aten::upsample_bilinear2d": {
    self: (m: Maker) => m.t(1, 2, 4, 5),
    output_size: [3, 7],
    align_corners: false,
    scales_h: null,
    scales_w: null,
  },
  "aten::_foreach_add_.Scalar": { self: list, scalar: 2 },
  "aten::_foreach_add_.List": { self: list, other: list, alpha: 0.5 },
  "aten::_foreach_add": { self: list, other: list, alpha: 0.5 },
  "aten::_foreach_sub": { self: list, other: list },
  "aten::_foreach_mul_": { self: list, scalar: 0.9 },
  "aten::_foreach_mul": { self: list, scalar: 0.9 },
  "aten::_foreach_addcmul_": { self: list, tensor1: list, tensor2: list, value: 0.1 },
  "aten::_foreach_addcdiv_": { self: list, tensor1: list, tensor2: positive, value: 0.1 },
  "aten::_foreach_sqrt": { self: positive },
  "aten::_foreach_norm": { self: list, ord: 2 },
};

/** A good call of the operator (`aten::conv2d`, `aten::to.dtype`), where one is known. */
export function sampleOf(name: string, maker: Maker): NamedArguments | undefined {
  const sample = SAMPLES[name] ?? SAMPLES[name.split(".")[0]];
  if (!sample) return undefined;
  return Object.fromEntries(
    Object.entries(sample).map(([key, value]) => [key, typeof value === "function" ? value(maker) : value]),
  );
}
