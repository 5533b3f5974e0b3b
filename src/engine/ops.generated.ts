// Made by native/generate.ts from native/ops.txt; do not edit.

import type { DType } from "./dtype.js";
import { native, resolveOperator } from "./load.js";
import type { Handle } from "./native.js";
import type { RandomGenerator } from "./random.js";
import type { Tensor } from "./tensor.js";
import { generatorId, handle, handles, many, type MemoryFormat, one, operand, optionalHandle, optionalHandles } from "./wrap.js";

/** Operator, overload and the argument names this file passes, in order. */
const OPERATORS: readonly (readonly [name: string, overload: string, arguments: string])[] = [
  ["aten::add", "Tensor", "self other alpha"],
  ["aten::add_", "Tensor", "self other alpha"],
  ["aten::sub", "Tensor", "self other alpha"],
  ["aten::sub_", "Tensor", "self other alpha"],
  ["aten::mul", "Tensor", "self other"],
  ["aten::mul_", "Tensor", "self other"],
  ["aten::div", "Tensor", "self other"],
  ["aten::div_", "Tensor", "self other"],
  ["aten::neg", "", "self"],
  ["aten::abs", "", "self"],
  ["aten::sign", "", "self"],
  ["aten::exp", "", "self"],
  ["aten::log", "", "self"],
  ["aten::log1p", "", "self"],
  ["aten::sqrt", "", "self"],
  ["aten::rsqrt", "", "self"],
  ["aten::square", "", "self"],
  ["aten::reciprocal", "", "self"],
  ["aten::pow", "Tensor_Scalar", "self exponent"],
  ["aten::sigmoid", "", "self"],
  ["aten::softplus", "", "self beta threshold"],
  ["aten::tanh", "", "self"],
  ["aten::erf", "", "self"],
  ["aten::erfinv", "", "self"],
  ["aten::leaky_relu", "", "self negative_slope"],
  ["aten::clamp", "", "self min max"],
  ["aten::clamp_", "", "self min max"],
  ["aten::maximum", "", "self other"],
  ["aten::minimum", "", "self other"],
  ["aten::addcmul", "", "self tensor1 tensor2 value"],
  ["aten::addcmul_", "", "self tensor1 tensor2 value"],
  ["aten::addcdiv_", "", "self tensor1 tensor2 value"],
  ["aten::lerp", "Scalar", "self end weight"],
  ["aten::lerp", "Tensor", "self end weight"],
  ["aten::lerp_", "Scalar", "self end weight"],
  ["aten::lerp_", "Tensor", "self end weight"],
  ["aten::where", "self", "condition self other"],
  ["aten::masked_fill", "Scalar", "self mask value"],
  ["aten::floor", "", "self"],
  ["aten::floor_", "", "self"],
  ["aten::eq", "Tensor", "self other"],
  ["aten::ne", "Tensor", "self other"],
  ["aten::lt", "Tensor", "self other"],
  ["aten::le", "Tensor", "self other"],
  ["aten::gt", "Tensor", "self other"],
  ["aten::ge", "Tensor", "self other"],
  ["aten::isfinite", "", "self"],
  ["aten::all", "", "self"],
  ["aten::any", "", "self"],
  ["aten::logical_and", "", "self other"],
  ["aten::logical_or", "", "self other"],
  ["aten::logical_not", "", "self"],
  ["aten::equal", "", "self other"],
  ["aten::sum", "", "self dtype"],
  ["aten::sum", "dim_IntList", "self dim keepdim dtype"],
  ["aten::mean", "", "self dtype"],
  ["aten::mean", "dim", "self dim keepdim dtype"],
  ["aten::var", "correction", "self dim correction keepdim"],
  ["aten::logsumexp", "", "self dim keepdim"],
  ["aten::amax", "", "self dim keepdim"],
  ["aten::amin", "", "self dim keepdim"],
  ["aten::argmax", "", "self dim keepdim"],
  ["aten::max", "", "self"],
  ["aten::min", "", "self"],
  ["aten::linalg_vector_norm", "", "self ord dim keepdim dtype"],
  ["aten::cumsum", "", "self dim dtype"],
  ["aten::sort", "", "self dim descending"],
  ["aten::topk", "", "self k dim largest sorted"],
  ["aten::quantile", "", "self q dim keepdim interpolation"],
  ["aten::bincount", "", "self weights minlength"],
  ["aten::view", "", "self size"],
  ["aten::reshape", "", "self shape"],
  ["aten::permute", "", "self dims"],
  ["aten::transpose", "int", "self dim0 dim1"],
  ["aten::t", "", "self"],
  ["aten::unsqueeze", "", "self dim"],
  ["aten::squeeze", "dim", "self dim"],
  ["aten::expand", "", "self size implicit"],
  ["aten::flatten", "using_ints", "self start_dim end_dim"],
  ["aten::contiguous", "", "self memory_format"],
  ["aten::clone", "", "self memory_format"],
  ["aten::detach", "", "self"],
  ["aten::select", "int", "self dim index"],
  ["aten::slice", "Tensor", "self dim start end step"],
  ["aten::narrow", "", "self dim start length"],
  ["aten::split", "Tensor", "self split_size dim"],
  ["aten::unbind", "int", "self dim"],
  ["aten::chunk", "", "self chunks dim"],
  ["aten::index_select", "", "self dim index"],
  ["aten::index_add_", "", "self dim index source alpha"],
  ["aten::index_copy_", "", "self dim index source"],
  ["aten::gather", "", "self dim index sparse_grad"],
  ["aten::index", "Tensor", "self indices"],
  ["aten::repeat", "", "self repeats"],
  ["aten::flip", "", "self dims"],
  ["aten::as_strided", "", "self size stride storage_offset"],
  ["aten::diagonal", "", "self offset dim1 dim2"],
  ["aten::cat", "", "tensors dim"],
  ["aten::stack", "", "tensors dim"],
  ["aten::empty", "memory_format", "size dtype layout device pin_memory memory_format"],
  ["aten::zeros", "", "size dtype layout device pin_memory"],
  ["aten::ones", "", "size dtype layout device pin_memory"],
  ["aten::full", "", "size fill_value dtype layout device pin_memory"],
  ["aten::eye", "", "n dtype layout device pin_memory"],
  ["aten::arange", "start_step", "start end step dtype layout device pin_memory"],
  ["aten::zeros_like", "", "self dtype layout device pin_memory memory_format"],
  ["aten::ones_like", "", "self dtype layout device pin_memory memory_format"],
  ["aten::empty_like", "", "self dtype layout device pin_memory memory_format"],
  ["aten::fill_", "Scalar", "self value"],
  ["aten::zero_", "", "self"],
  ["aten::copy_", "", "self src non_blocking"],
  ["aten::uniform_", "", "self from to generator"],
  ["aten::normal_", "", "self mean std generator"],
  ["aten::bernoulli_", "float", "self p generator"],
  ["aten::randperm", "generator", "n generator dtype layout device pin_memory"],
  ["aten::one_hot", "", "self num_classes"],
  ["aten::to", "dtype", "self dtype non_blocking copy memory_format"],
  ["aten::to", "device", "self device dtype non_blocking copy memory_format"],
  ["aten::_to_copy", "", "self dtype layout device pin_memory non_blocking memory_format"],
  ["aten::matmul", "", "self other"],
  ["aten::mm", "", "self mat2"],
  ["aten::bmm", "", "self mat2"],
  ["aten::addmm", "", "self mat1 mat2 beta alpha"],
  ["aten::baddbmm", "", "self batch1 batch2 beta alpha"],
  ["aten::linalg_svd", "", "A full_matrices driver"],
  ["aten::linalg_svdvals", "", "A driver"],
  ["aten::linalg_eigh", "", "self UPLO"],
  ["aten::linalg_eigvalsh", "", "self UPLO"],
  ["aten::addmm_", "", "self mat1 mat2 beta alpha"],
  ["aten::dot", "", "self tensor"],
  ["aten::linear", "", "input weight bias"],
  ["aten::conv2d", "", "input weight bias stride padding dilation groups"],
  ["aten::batch_norm", "", "input weight bias running_mean running_var training momentum eps cudnn_enabled"],
  ["aten::batch_norm_update_stats", "", "input running_mean running_var momentum"],
  ["aten::group_norm", "", "input num_groups weight bias eps cudnn_enabled"],
  ["aten::layer_norm", "", "input normalized_shape weight bias eps cudnn_enable"],
  ["aten::gelu", "", "self approximate"],
  ["aten::silu", "", "self"],
  ["aten::silu_", "", "self"],
  ["aten::hardswish", "", "self"],
  ["aten::relu", "", "self"],
  ["aten::relu_", "", "self"],
  ["aten::hardtanh", "", "self min_val max_val"],
  ["aten::hardtanh_", "", "self min_val max_val"],
  ["aten::max_pool2d", "", "self kernel_size stride padding dilation ceil_mode"],
  ["aten::avg_pool2d", "", "self kernel_size stride padding ceil_mode count_include_pad divisor_override"],
  ["aten::adaptive_avg_pool2d", "", "self output_size"],
  ["aten::embedding", "", "weight indices padding_idx scale_grad_by_freq sparse"],
  ["aten::dropout", "", "input p train"],
  ["aten::softmax", "int", "self dim dtype"],
  ["aten::log_softmax", "int", "self dim dtype"],
  ["aten::cross_entropy_loss", "", "self target weight reduction ignore_index label_smoothing"],
  ["aten::nll_loss", "", "self target weight reduction ignore_index"],
  ["aten::mse_loss", "", "self target reduction"],
  ["aten::binary_cross_entropy_with_logits", "", "self target weight pos_weight reduction"],
  ["aten::upsample_bilinear2d", "", "self output_size align_corners scales_h scales_w"],
  ["aten::upsample_bicubic2d", "", "self output_size align_corners scales_h scales_w"],
  ["aten::_upsample_bicubic2d_aa", "", "self output_size align_corners scales_h scales_w"],
  ["aten::_foreach_add_", "Scalar", "self scalar"],
  ["aten::_foreach_add_", "List", "self other alpha"],
  ["aten::_foreach_add", "List", "self other alpha"],
  ["aten::_foreach_sub", "List", "self other alpha"],
  ["aten::_foreach_mul_", "Scalar", "self scalar"],
  ["aten::_foreach_mul", "Scalar", "self scalar"],
  ["aten::_foreach_addcmul_", "Scalar", "self tensor1 tensor2 value"],
  ["aten::_foreach_addcdiv_", "Scalar", "self tensor1 tensor2 value"],
  ["aten::_foreach_sqrt", "", "self"],
  ["aten::_foreach_norm", "Scalar", "self ord"],
  ["aten::_foreach_div_", "ScalarList", "self scalars"],
  ["aten::_fused_adam_", "", "self grads exp_avgs exp_avg_sqs max_exp_avg_sqs state_steps lr beta1 beta2 weight_decay eps amsgrad maximize grad_scale found_inf"],
  ["nudge::fold_norm", "", "weight gamma beta mean variance eps half"],
  ["nudge::fold_norms", "", "tensors eps half"],
  ["nudge::bias_clamp", "", "y bias residual low high"],
  ["nudge::bias_clamp_twice", "", "y bias residual low high"],
  ["nudge::depthwise", "", "x weight stride"],
  ["nudge::depthwise_clamp", "", "x weight bias stride low high"],
  ["nudge::wide_depthwise", "", "x weight bias"],
  ["nudge::grouped_conv", "", "x weight stride padding groups widest"],
  ["nudge::conv2d", "", "x weight bias stride padding groups"],
  ["nudge::linear", "", "x weight bias"],
  ["nudge::linear_gelu", "", "x weight bias"],
  ["nudge::max_pool", "", "x"],
  ["nudge::layer_norm", "", "x residual weight bias eps half"],
  ["nudge::relu_norm", "", "x shift weight bias groups eps"],
  ["nudge::channel_mean", "", "x"],
  ["nudge::channel_scale", "", "x factors"],
  ["nudge::scale_add", "", "x branch gamma keep"],
  ["nudge::adam", "", "parameters gradients means squares steps lr beta1 beta2 weight_decay eps"],
  ["nudge::adam_host", "", "parameters gradients means squares step root beta1 beta2 decay shrink eps"],
  ["nudge::augment", "", "source samples size tallest mean deviation channels_last bicubic"],
];

const ids: (number | undefined)[] = new Array(OPERATORS.length);

function resolve(index: number): number {
  const id = resolveOperator(...OPERATORS[index]);
  ids[index] = id;
  return id;
}

/** The operators that are methods of a tensor. */
export abstract class Operators {
  /** @internal */
  abstract handle: Handle;

  /** `aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor` */
  add(other: Tensor | number, options?: { alpha?: number | boolean }): Tensor {
    const op = ids[0] ?? resolve(0);
    return one(native.call(op, handle(this), operand(other), options?.alpha));
  }

  /** `aten::add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)` */
  add_(other: Tensor | number, options?: { alpha?: number | boolean }): this {
    const op = ids[1] ?? resolve(1);
    native.call(op, handle(this), operand(other), options?.alpha);
    return this;
  }

  /** `aten::sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor` */
  sub(other: Tensor | number, options?: { alpha?: number | boolean }): Tensor {
    const op = ids[2] ?? resolve(2);
    return one(native.call(op, handle(this), operand(other), options?.alpha));
  }

  /** `aten::sub_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)` */
  sub_(other: Tensor | number, options?: { alpha?: number | boolean }): this {
    const op = ids[3] ?? resolve(3);
    native.call(op, handle(this), operand(other), options?.alpha);
    return this;
  }

  /** `aten::mul.Tensor(Tensor self, Tensor other) -> Tensor` */
  mul(other: Tensor | number): Tensor {
    const op = ids[4] ?? resolve(4);
    return one(native.call(op, handle(this), operand(other)));
  }

  /** `aten::mul_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)` */
  mul_(other: Tensor | number): this {
    const op = ids[5] ?? resolve(5);
    native.call(op, handle(this), operand(other));
    return this;
  }

  /** `aten::div.Tensor(Tensor self, Tensor other) -> Tensor` */
  div(other: Tensor | number): Tensor {
    const op = ids[6] ?? resolve(6);
    return one(native.call(op, handle(this), operand(other)));
  }

  /** `aten::div_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)` */
  div_(other: Tensor | number): this {
    const op = ids[7] ?? resolve(7);
    native.call(op, handle(this), operand(other));
    return this;
  }

  /** `aten::neg(Tensor self) -> Tensor` */
  neg(): Tensor {
    const op = ids[8] ?? resolve(8);
    return one(native.call(op, handle(this)));
  }

  /** `aten::abs(Tensor self) -> Tensor` */
  abs(): Tensor {
    const op = ids[9] ?? resolve(9);
    return one(native.call(op, handle(this)));
  }

  /** `aten::sign(Tensor self) -> Tensor` */
  sign(): Tensor {
    const op = ids[10] ?? resolve(10);
    return one(native.call(op, handle(this)));
  }

  /** `aten::exp(Tensor self) -> Tensor` */
  exp(): Tensor {
    const op = ids[11] ?? resolve(11);
    return one(native.call(op, handle(this)));
  }

  /** `aten::log(Tensor self) -> Tensor` */
  log(): Tensor {
    const op = ids[12] ?? resolve(12);
    return one(native.call(op, handle(this)));
  }

  /** `aten::log1p(Tensor self) -> Tensor` */
  log1p(): Tensor {
    const op = ids[13] ?? resolve(13);
    return one(native.call(op, handle(this)));
  }

  /** `aten::sqrt(Tensor self) -> Tensor` */
  sqrt(): Tensor {
    const op = ids[14] ?? resolve(14);
    return one(native.call(op, handle(this)));
  }

  /** `aten::rsqrt(Tensor self) -> Tensor` */
  rsqrt(): Tensor {
    const op = ids[15] ?? resolve(15);
    return one(native.call(op, handle(this)));
  }

  /** `aten::square(Tensor self) -> Tensor` */
  square(): Tensor {
    const op = ids[16] ?? resolve(16);
    return one(native.call(op, handle(this)));
  }

  /** `aten::reciprocal(Tensor self) -> Tensor` */
  reciprocal(): Tensor {
    const op = ids[17] ?? resolve(17);
    return one(native.call(op, handle(this)));
  }

  /** `aten::pow.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor` */
  pow(exponent: number | boolean): Tensor {
    const op = ids[18] ?? resolve(18);
    return one(native.call(op, handle(this), exponent));
  }

  /** `aten::sigmoid(Tensor self) -> Tensor` */
  sigmoid(): Tensor {
    const op = ids[19] ?? resolve(19);
    return one(native.call(op, handle(this)));
  }

  /** `aten::softplus(Tensor self, Scalar beta=1, Scalar threshold=20) -> Tensor` */
  softplus(beta?: number | boolean, threshold?: number | boolean): Tensor {
    const op = ids[20] ?? resolve(20);
    return one(native.call(op, handle(this), beta, threshold));
  }

  /** `aten::tanh(Tensor self) -> Tensor` */
  tanh(): Tensor {
    const op = ids[21] ?? resolve(21);
    return one(native.call(op, handle(this)));
  }

  /** `aten::erf(Tensor self) -> Tensor` */
  erf(): Tensor {
    const op = ids[22] ?? resolve(22);
    return one(native.call(op, handle(this)));
  }

  /** `aten::erfinv(Tensor self) -> Tensor` */
  erfinv(): Tensor {
    const op = ids[23] ?? resolve(23);
    return one(native.call(op, handle(this)));
  }

  /** `aten::leaky_relu(Tensor self, Scalar negative_slope=0.01) -> Tensor` */
  leakyRelu(negative_slope?: number | boolean): Tensor {
    const op = ids[24] ?? resolve(24);
    return one(native.call(op, handle(this), negative_slope));
  }

  /** `aten::clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor` */
  clamp(min?: number | boolean | null, max?: number | boolean | null): Tensor {
    const op = ids[25] ?? resolve(25);
    return one(native.call(op, handle(this), min, max));
  }

  /** `aten::clamp_(Tensor(a!) self, Scalar? min=None, Scalar? max=None) -> Tensor(a!)` */
  clamp_(min?: number | boolean | null, max?: number | boolean | null): this {
    const op = ids[26] ?? resolve(26);
    native.call(op, handle(this), min, max);
    return this;
  }

  /** `aten::maximum(Tensor self, Tensor other) -> Tensor` */
  maximum(other: Tensor | number): Tensor {
    const op = ids[27] ?? resolve(27);
    return one(native.call(op, handle(this), operand(other)));
  }

  /** `aten::minimum(Tensor self, Tensor other) -> Tensor` */
  minimum(other: Tensor | number): Tensor {
    const op = ids[28] ?? resolve(28);
    return one(native.call(op, handle(this), operand(other)));
  }

  /** `aten::addcmul(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor` */
  addcmul(tensor1: Tensor | number, tensor2: Tensor | number, options?: { value?: number | boolean }): Tensor {
    const op = ids[29] ?? resolve(29);
    return one(native.call(op, handle(this), operand(tensor1), operand(tensor2), options?.value));
  }

  /** `aten::addcmul_(Tensor(a!) self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor(a!)` */
  addcmul_(tensor1: Tensor | number, tensor2: Tensor | number, options?: { value?: number | boolean }): this {
    const op = ids[30] ?? resolve(30);
    native.call(op, handle(this), operand(tensor1), operand(tensor2), options?.value);
    return this;
  }

  /** `aten::addcdiv_(Tensor(a!) self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor(a!)` */
  addcdiv_(tensor1: Tensor | number, tensor2: Tensor | number, options?: { value?: number | boolean }): this {
    const op = ids[31] ?? resolve(31);
    native.call(op, handle(this), operand(tensor1), operand(tensor2), options?.value);
    return this;
  }

  /** `aten::lerp.Scalar(Tensor self, Tensor end, Scalar weight) -> Tensor` */
  lerp(end: Tensor | number, weight: number | boolean): Tensor {
    const op = ids[32] ?? resolve(32);
    return one(native.call(op, handle(this), operand(end), weight));
  }

  /** `aten::lerp.Tensor(Tensor self, Tensor end, Tensor weight) -> Tensor` */
  lerpTensor(end: Tensor | number, weight: Tensor | number): Tensor {
    const op = ids[33] ?? resolve(33);
    return one(native.call(op, handle(this), operand(end), operand(weight)));
  }

  /** `aten::lerp_.Scalar(Tensor(a!) self, Tensor end, Scalar weight) -> Tensor(a!)` */
  lerp_(end: Tensor | number, weight: number | boolean): this {
    const op = ids[34] ?? resolve(34);
    native.call(op, handle(this), operand(end), weight);
    return this;
  }

  /** `aten::lerp_.Tensor(Tensor(a!) self, Tensor end, Tensor weight) -> Tensor(a!)` */
  lerpTensor_(end: Tensor | number, weight: Tensor | number): this {
    const op = ids[35] ?? resolve(35);
    native.call(op, handle(this), operand(end), operand(weight));
    return this;
  }

  /** `aten::masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor` */
  maskedFill(mask: Tensor | number, value: number | boolean): Tensor {
    const op = ids[37] ?? resolve(37);
    return one(native.call(op, handle(this), operand(mask), value));
  }

  /** `aten::floor(Tensor self) -> Tensor` */
  floor(): Tensor {
    const op = ids[38] ?? resolve(38);
    return one(native.call(op, handle(this)));
  }

  /** `aten::floor_(Tensor(a!) self) -> Tensor(a!)` */
  floor_(): this {
    const op = ids[39] ?? resolve(39);
    native.call(op, handle(this));
    return this;
  }

  /** `aten::eq.Tensor(Tensor self, Tensor other) -> Tensor` */
  eq(other: Tensor | number): Tensor {
    const op = ids[40] ?? resolve(40);
    return one(native.call(op, handle(this), operand(other)));
  }

  /** `aten::ne.Tensor(Tensor self, Tensor other) -> Tensor` */
  ne(other: Tensor | number): Tensor {
    const op = ids[41] ?? resolve(41);
    return one(native.call(op, handle(this), operand(other)));
  }

  /** `aten::lt.Tensor(Tensor self, Tensor other) -> Tensor` */
  lt(other: Tensor | number): Tensor {
    const op = ids[42] ?? resolve(42);
    return one(native.call(op, handle(this), operand(other)));
  }

  /** `aten::le.Tensor(Tensor self, Tensor other) -> Tensor` */
  le(other: Tensor | number): Tensor {
    const op = ids[43] ?? resolve(43);
    return one(native.call(op, handle(this), operand(other)));
  }

  /** `aten::gt.Tensor(Tensor self, Tensor other) -> Tensor` */
  gt(other: Tensor | number): Tensor {
    const op = ids[44] ?? resolve(44);
    return one(native.call(op, handle(this), operand(other)));
  }

  /** `aten::ge.Tensor(Tensor self, Tensor other) -> Tensor` */
  ge(other: Tensor | number): Tensor {
    const op = ids[45] ?? resolve(45);
    return one(native.call(op, handle(this), operand(other)));
  }

  /** `aten::isfinite(Tensor self) -> Tensor` */
  isfinite(): Tensor {
    const op = ids[46] ?? resolve(46);
    return one(native.call(op, handle(this)));
  }

  /** `aten::all(Tensor self) -> Tensor` */
  allTrue(): Tensor {
    const op = ids[47] ?? resolve(47);
    return one(native.call(op, handle(this)));
  }

  /** `aten::any(Tensor self) -> Tensor` */
  anyTrue(): Tensor {
    const op = ids[48] ?? resolve(48);
    return one(native.call(op, handle(this)));
  }

  /** `aten::logical_and(Tensor self, Tensor other) -> Tensor` */
  logicalAnd(other: Tensor | number): Tensor {
    const op = ids[49] ?? resolve(49);
    return one(native.call(op, handle(this), operand(other)));
  }

  /** `aten::logical_or(Tensor self, Tensor other) -> Tensor` */
  logicalOr(other: Tensor | number): Tensor {
    const op = ids[50] ?? resolve(50);
    return one(native.call(op, handle(this), operand(other)));
  }

  /** `aten::logical_not(Tensor self) -> Tensor` */
  logicalNot(): Tensor {
    const op = ids[51] ?? resolve(51);
    return one(native.call(op, handle(this)));
  }

  /** `aten::equal(Tensor self, Tensor other) -> bool` */
  equal(other: Tensor | number): boolean {
    const op = ids[52] ?? resolve(52);
    return native.call(op, handle(this), operand(other)) as boolean;
  }

  /** `aten::sum(Tensor self, *, ScalarType? dtype=None) -> Tensor` */
  sumAll(options?: { dtype?: DType | null }): Tensor {
    const op = ids[53] ?? resolve(53);
    return one(native.call(op, handle(this), options?.dtype));
  }

  /** `aten::sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor` */
  sumOver(dim?: readonly number[] | number | null, keepdim?: boolean, options?: { dtype?: DType | null }): Tensor {
    const op = ids[54] ?? resolve(54);
    return one(native.call(op, handle(this), dim, keepdim, options?.dtype));
  }

  /** `aten::mean(Tensor self, *, ScalarType? dtype=None) -> Tensor` */
  meanAll(options?: { dtype?: DType | null }): Tensor {
    const op = ids[55] ?? resolve(55);
    return one(native.call(op, handle(this), options?.dtype));
  }

  /** `aten::mean.dim(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor` */
  meanOver(dim?: readonly number[] | number | null, keepdim?: boolean, options?: { dtype?: DType | null }): Tensor {
    const op = ids[56] ?? resolve(56);
    return one(native.call(op, handle(this), dim, keepdim, options?.dtype));
  }

  /** `aten::var.correction(Tensor self, int[1]? dim, *, int? correction, bool keepdim=False) -> Tensor` */
  varCorrection(dim?: readonly number[] | number | null, options?: { correction?: number | null; keepdim?: boolean }): Tensor {
    const op = ids[57] ?? resolve(57);
    return one(native.call(op, handle(this), dim, options?.correction, options?.keepdim));
  }

  /** `aten::logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor` */
  logsumexp(dim: readonly number[] | number, keepdim?: boolean): Tensor {
    const op = ids[58] ?? resolve(58);
    return one(native.call(op, handle(this), dim, keepdim));
  }

  /** `aten::amax(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor` */
  amax(dim?: readonly number[] | number, keepdim?: boolean): Tensor {
    const op = ids[59] ?? resolve(59);
    return one(native.call(op, handle(this), dim, keepdim));
  }

  /** `aten::amin(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor` */
  amin(dim?: readonly number[] | number, keepdim?: boolean): Tensor {
    const op = ids[60] ?? resolve(60);
    return one(native.call(op, handle(this), dim, keepdim));
  }

  /** `aten::argmax(Tensor self, int? dim=None, bool keepdim=False) -> Tensor` */
  argmax(dim?: number | null, keepdim?: boolean): Tensor {
    const op = ids[61] ?? resolve(61);
    return one(native.call(op, handle(this), dim, keepdim));
  }

  /** `aten::max(Tensor self) -> Tensor` */
  maxAll(): Tensor {
    const op = ids[62] ?? resolve(62);
    return one(native.call(op, handle(this)));
  }

  /** `aten::min(Tensor self) -> Tensor` */
  minAll(): Tensor {
    const op = ids[63] ?? resolve(63);
    return one(native.call(op, handle(this)));
  }

  /** `aten::linalg_vector_norm(Tensor self, Scalar ord=2, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor` */
  vectorNorm(ord?: number | boolean, dim?: readonly number[] | number | null, keepdim?: boolean, options?: { dtype?: DType | null }): Tensor {
    const op = ids[64] ?? resolve(64);
    return one(native.call(op, handle(this), ord, dim, keepdim, options?.dtype));
  }

  /** `aten::cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor` */
  cumsum(dim: number, options?: { dtype?: DType | null }): Tensor {
    const op = ids[65] ?? resolve(65);
    return one(native.call(op, handle(this), dim, options?.dtype));
  }

  /** `aten::sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)` */
  sort(dim?: number, descending?: boolean): [Tensor, Tensor] {
    const op = ids[66] ?? resolve(66);
    return many(native.call(op, handle(this), dim, descending)) as [Tensor, Tensor];
  }

  /** `aten::topk(Tensor self, int k, int dim=-1, bool largest=True, bool sorted=True) -> (Tensor values, Tensor indices)` */
  topk(k: number, dim?: number, largest?: boolean, sorted?: boolean): [Tensor, Tensor] {
    const op = ids[67] ?? resolve(67);
    return many(native.call(op, handle(this), k, dim, largest, sorted)) as [Tensor, Tensor];
  }

  /** `aten::quantile(Tensor self, Tensor q, int? dim=None, bool keepdim=False, *, str interpolation="linear") -> Tensor` */
  quantile(q: Tensor | number, dim?: number | null, keepdim?: boolean, options?: { interpolation?: string }): Tensor {
    const op = ids[68] ?? resolve(68);
    return one(native.call(op, handle(this), operand(q), dim, keepdim, options?.interpolation));
  }

  /** `aten::bincount(Tensor self, Tensor? weights=None, int minlength=0) -> Tensor` */
  bincount(weights?: Tensor | null, minlength?: number): Tensor {
    const op = ids[69] ?? resolve(69);
    return one(native.call(op, handle(this), optionalHandle(weights), minlength));
  }

  /** `aten::view(Tensor(a) self, SymInt[] size) -> Tensor(a)` */
  viewAs(size: readonly number[]): Tensor {
    const op = ids[70] ?? resolve(70);
    return one(native.call(op, handle(this), size));
  }

  /** `aten::reshape(Tensor(a) self, SymInt[] shape) -> Tensor(a)` */
  reshapeTo(shape: readonly number[]): Tensor {
    const op = ids[71] ?? resolve(71);
    return one(native.call(op, handle(this), shape));
  }

  /** `aten::permute(Tensor(a) self, int[] dims) -> Tensor(a)` */
  permute(dims: readonly number[]): Tensor {
    const op = ids[72] ?? resolve(72);
    return one(native.call(op, handle(this), dims));
  }

  /** `aten::transpose.int(Tensor(a) self, int dim0, int dim1) -> Tensor(a)` */
  transpose(dim0: number, dim1: number): Tensor {
    const op = ids[73] ?? resolve(73);
    return one(native.call(op, handle(this), dim0, dim1));
  }

  /** `aten::t(Tensor(a) self) -> Tensor(a)` */
  t(): Tensor {
    const op = ids[74] ?? resolve(74);
    return one(native.call(op, handle(this)));
  }

  /** `aten::unsqueeze(Tensor(a) self, int dim) -> Tensor(a)` */
  unsqueeze(dim: number): Tensor {
    const op = ids[75] ?? resolve(75);
    return one(native.call(op, handle(this), dim));
  }

  /** `aten::squeeze.dim(Tensor(a) self, int dim) -> Tensor(a)` */
  squeeze(dim: number): Tensor {
    const op = ids[76] ?? resolve(76);
    return one(native.call(op, handle(this), dim));
  }

  /** `aten::expand(Tensor(a) self, SymInt[] size, *, bool implicit=False) -> Tensor(a)` */
  expand(size: readonly number[], options?: { implicit?: boolean }): Tensor {
    const op = ids[77] ?? resolve(77);
    return one(native.call(op, handle(this), size, options?.implicit));
  }

  /** `aten::flatten.using_ints(Tensor(a) self, int start_dim=0, int end_dim=-1) -> Tensor(a)` */
  flatten(start_dim?: number, end_dim?: number): Tensor {
    const op = ids[78] ?? resolve(78);
    return one(native.call(op, handle(this), start_dim, end_dim));
  }

  /** `aten::contiguous(Tensor(a) self, *, MemoryFormat memory_format=0) -> Tensor(a)` */
  contiguous(options?: { memory_format?: MemoryFormat }): Tensor {
    const op = ids[79] ?? resolve(79);
    return one(native.call(op, handle(this), options?.memory_format));
  }

  /** `aten::clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor` */
  clone(options?: { memory_format?: MemoryFormat | null }): Tensor {
    const op = ids[80] ?? resolve(80);
    return one(native.call(op, handle(this), options?.memory_format));
  }

  /** `aten::detach(Tensor(a) self) -> Tensor(a)` */
  detach(): Tensor {
    const op = ids[81] ?? resolve(81);
    return one(native.call(op, handle(this)));
  }

  /** `aten::select.int(Tensor(a) self, int dim, int index) -> Tensor(a)` */
  select(dim: number, index: number): Tensor {
    const op = ids[82] ?? resolve(82);
    return one(native.call(op, handle(this), dim, index));
  }

  /** `aten::slice.Tensor(Tensor(a) self, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> Tensor(a)` */
  slice(dim?: number, start?: number | null, end?: number | null, step?: number): Tensor {
    const op = ids[83] ?? resolve(83);
    return one(native.call(op, handle(this), dim, start, end, step));
  }

  /** `aten::narrow(Tensor(a) self, int dim, int start, int length) -> Tensor(a)` */
  narrow(dim: number, start: number, length: number): Tensor {
    const op = ids[84] ?? resolve(84);
    return one(native.call(op, handle(this), dim, start, length));
  }

  /** `aten::split.Tensor(Tensor(a -> *) self, int split_size, int dim=0) -> Tensor(a)[]` */
  split(split_size: number, dim?: number): Tensor[] {
    const op = ids[85] ?? resolve(85);
    return many(native.call(op, handle(this), split_size, dim));
  }

  /** `aten::unbind.int(Tensor(a -> *) self, int dim=0) -> Tensor(a)[]` */
  unbind(dim?: number): Tensor[] {
    const op = ids[86] ?? resolve(86);
    return many(native.call(op, handle(this), dim));
  }

  /** `aten::chunk(Tensor(a -> *) self, int chunks, int dim=0) -> Tensor(a)[]` */
  chunk(chunks: number, dim?: number): Tensor[] {
    const op = ids[87] ?? resolve(87);
    return many(native.call(op, handle(this), chunks, dim));
  }

  /** `aten::index_select(Tensor self, int dim, Tensor index) -> Tensor` */
  indexSelect(dim: number, index: Tensor | number): Tensor {
    const op = ids[88] ?? resolve(88);
    return one(native.call(op, handle(this), dim, operand(index)));
  }

  /** `aten::index_add_(Tensor(a!) self, int dim, Tensor index, Tensor source, *, Scalar alpha=1) -> Tensor(a!)` */
  indexAdd_(dim: number, index: Tensor | number, source: Tensor | number, options?: { alpha?: number | boolean }): this {
    const op = ids[89] ?? resolve(89);
    native.call(op, handle(this), dim, operand(index), operand(source), options?.alpha);
    return this;
  }

  /** `aten::index_copy_(Tensor(a!) self, int dim, Tensor index, Tensor source) -> Tensor(a!)` */
  indexCopy_(dim: number, index: Tensor | number, source: Tensor | number): this {
    const op = ids[90] ?? resolve(90);
    native.call(op, handle(this), dim, operand(index), operand(source));
    return this;
  }

  /** `aten::gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor` */
  gather(dim: number, index: Tensor | number, options?: { sparse_grad?: boolean }): Tensor {
    const op = ids[91] ?? resolve(91);
    return one(native.call(op, handle(this), dim, operand(index), options?.sparse_grad));
  }

  /** `aten::index.Tensor(Tensor self, Tensor?[] indices) -> Tensor` */
  indexBy(indices: readonly (Tensor | null)[]): Tensor {
    const op = ids[92] ?? resolve(92);
    return one(native.call(op, handle(this), optionalHandles(indices)));
  }

  /** `aten::repeat(Tensor self, SymInt[] repeats) -> Tensor` */
  repeat(repeats: readonly number[]): Tensor {
    const op = ids[93] ?? resolve(93);
    return one(native.call(op, handle(this), repeats));
  }

  /** `aten::flip(Tensor self, int[] dims) -> Tensor` */
  flip(dims: readonly number[]): Tensor {
    const op = ids[94] ?? resolve(94);
    return one(native.call(op, handle(this), dims));
  }

  /** `aten::as_strided(Tensor(a) self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> Tensor(a)` */
  asStrided(size: readonly number[], stride: readonly number[], storage_offset?: number | null): Tensor {
    const op = ids[95] ?? resolve(95);
    return one(native.call(op, handle(this), size, stride, storage_offset));
  }

  /** `aten::diagonal(Tensor(a) self, int offset=0, int dim1=0, int dim2=1) -> Tensor(a)` */
  diagonal(offset?: number, dim1?: number, dim2?: number): Tensor {
    const op = ids[96] ?? resolve(96);
    return one(native.call(op, handle(this), offset, dim1, dim2));
  }

  /** `aten::zeros_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor` */
  zerosLike(options?: { dtype?: DType | null; layout?: "strided" | null; device?: string | null; pin_memory?: boolean | null; memory_format?: MemoryFormat | null }): Tensor {
    const op = ids[105] ?? resolve(105);
    return one(native.call(op, handle(this), options?.dtype, options?.layout, options?.device, options?.pin_memory, options?.memory_format));
  }

  /** `aten::ones_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor` */
  onesLike(options?: { dtype?: DType | null; layout?: "strided" | null; device?: string | null; pin_memory?: boolean | null; memory_format?: MemoryFormat | null }): Tensor {
    const op = ids[106] ?? resolve(106);
    return one(native.call(op, handle(this), options?.dtype, options?.layout, options?.device, options?.pin_memory, options?.memory_format));
  }

  /** `aten::empty_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor` */
  emptyLike(options?: { dtype?: DType | null; layout?: "strided" | null; device?: string | null; pin_memory?: boolean | null; memory_format?: MemoryFormat | null }): Tensor {
    const op = ids[107] ?? resolve(107);
    return one(native.call(op, handle(this), options?.dtype, options?.layout, options?.device, options?.pin_memory, options?.memory_format));
  }

  /** `aten::fill_.Scalar(Tensor(a!) self, Scalar value) -> Tensor(a!)` */
  fill_(value: number | boolean): this {
    const op = ids[108] ?? resolve(108);
    native.call(op, handle(this), value);
    return this;
  }

  /** `aten::zero_(Tensor(a!) self) -> Tensor(a!)` */
  zero_(): this {
    const op = ids[109] ?? resolve(109);
    native.call(op, handle(this));
    return this;
  }

  /** `aten::copy_(Tensor(a!) self, Tensor src, bool non_blocking=False) -> Tensor(a!)` */
  copy_(src: Tensor | number, non_blocking?: boolean): this {
    const op = ids[110] ?? resolve(110);
    native.call(op, handle(this), operand(src), non_blocking);
    return this;
  }

  /** `aten::uniform_(Tensor(a!) self, float from=0., float to=1., *, Generator? generator=None) -> Tensor(a!)` */
  uniform_(from?: number, to?: number, options?: { generator?: RandomGenerator | null }): this {
    const op = ids[111] ?? resolve(111);
    native.call(op, handle(this), from, to, generatorId(options?.generator));
    return this;
  }

  /** `aten::normal_(Tensor(a!) self, float mean=0., float std=1., *, Generator? generator=None) -> Tensor(a!)` */
  normal_(mean?: number, std?: number, options?: { generator?: RandomGenerator | null }): this {
    const op = ids[112] ?? resolve(112);
    native.call(op, handle(this), mean, std, generatorId(options?.generator));
    return this;
  }

  /** `aten::bernoulli_.float(Tensor(a!) self, float p=0.5, *, Generator? generator=None) -> Tensor(a!)` */
  bernoulli_(p?: number, options?: { generator?: RandomGenerator | null }): this {
    const op = ids[113] ?? resolve(113);
    native.call(op, handle(this), p, generatorId(options?.generator));
    return this;
  }

  /** `aten::one_hot(Tensor self, int num_classes=-1) -> Tensor` */
  oneHot(num_classes?: number): Tensor {
    const op = ids[115] ?? resolve(115);
    return one(native.call(op, handle(this), num_classes));
  }

  /** `aten::to.dtype(Tensor(a) self, ScalarType dtype, bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> Tensor(a)` */
  toDType(dtype: DType, non_blocking?: boolean, copy?: boolean, memory_format?: MemoryFormat | null): Tensor {
    const op = ids[116] ?? resolve(116);
    return one(native.call(op, handle(this), dtype, non_blocking, copy, memory_format));
  }

  /** `aten::to.device(Tensor(a) self, Device device, ScalarType dtype, bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> Tensor(a)` */
  toDevice(device: string, dtype: DType, non_blocking?: boolean, copy?: boolean, memory_format?: MemoryFormat | null): Tensor {
    const op = ids[117] ?? resolve(117);
    return one(native.call(op, handle(this), device, dtype, non_blocking, copy, memory_format));
  }

  /** `aten::_to_copy(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, bool non_blocking=False, MemoryFormat? memory_format=None) -> Tensor` */
  toCopy(options?: { dtype?: DType | null; layout?: "strided" | null; device?: string | null; pin_memory?: boolean | null; non_blocking?: boolean; memory_format?: MemoryFormat | null }): Tensor {
    const op = ids[118] ?? resolve(118);
    return one(native.call(op, handle(this), options?.dtype, options?.layout, options?.device, options?.pin_memory, options?.non_blocking, options?.memory_format));
  }

  /** `aten::matmul(Tensor self, Tensor other) -> Tensor` */
  matmul(other: Tensor | number): Tensor {
    const op = ids[119] ?? resolve(119);
    return one(native.call(op, handle(this), operand(other)));
  }

  /** `aten::mm(Tensor self, Tensor mat2) -> Tensor` */
  mm(mat2: Tensor | number): Tensor {
    const op = ids[120] ?? resolve(120);
    return one(native.call(op, handle(this), operand(mat2)));
  }

  /** `aten::bmm(Tensor self, Tensor mat2) -> Tensor` */
  bmm(mat2: Tensor | number): Tensor {
    const op = ids[121] ?? resolve(121);
    return one(native.call(op, handle(this), operand(mat2)));
  }

  /** `aten::addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor` */
  addmm(mat1: Tensor | number, mat2: Tensor | number, options?: { beta?: number | boolean; alpha?: number | boolean }): Tensor {
    const op = ids[122] ?? resolve(122);
    return one(native.call(op, handle(this), operand(mat1), operand(mat2), options?.beta, options?.alpha));
  }

  /** `aten::baddbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor` */
  baddbmm(batch1: Tensor | number, batch2: Tensor | number, options?: { beta?: number | boolean; alpha?: number | boolean }): Tensor {
    const op = ids[123] ?? resolve(123);
    return one(native.call(op, handle(this), operand(batch1), operand(batch2), options?.beta, options?.alpha));
  }

  /** `aten::linalg_eigh(Tensor self, str UPLO="L") -> (Tensor eigenvalues, Tensor eigenvectors)` */
  linalgEigh(UPLO?: string): [Tensor, Tensor] {
    const op = ids[126] ?? resolve(126);
    return many(native.call(op, handle(this), UPLO)) as [Tensor, Tensor];
  }

  /** `aten::linalg_eigvalsh(Tensor self, str UPLO="L") -> Tensor` */
  linalgEigvalsh(UPLO?: string): Tensor {
    const op = ids[127] ?? resolve(127);
    return one(native.call(op, handle(this), UPLO));
  }

  /** `aten::addmm_(Tensor(a!) self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor(a!)` */
  addmm_(mat1: Tensor | number, mat2: Tensor | number, options?: { beta?: number | boolean; alpha?: number | boolean }): this {
    const op = ids[128] ?? resolve(128);
    native.call(op, handle(this), operand(mat1), operand(mat2), options?.beta, options?.alpha);
    return this;
  }

  /** `aten::dot(Tensor self, Tensor tensor) -> Tensor` */
  dot(tensor: Tensor | number): Tensor {
    const op = ids[129] ?? resolve(129);
    return one(native.call(op, handle(this), operand(tensor)));
  }

  /** `aten::gelu(Tensor self, *, str approximate="none") -> Tensor` */
  gelu(options?: { approximate?: string }): Tensor {
    const op = ids[136] ?? resolve(136);
    return one(native.call(op, handle(this), options?.approximate));
  }

  /** `aten::silu(Tensor self) -> Tensor` */
  silu(): Tensor {
    const op = ids[137] ?? resolve(137);
    return one(native.call(op, handle(this)));
  }

  /** `aten::silu_(Tensor(a!) self) -> Tensor(a!)` */
  silu_(): this {
    const op = ids[138] ?? resolve(138);
    native.call(op, handle(this));
    return this;
  }

  /** `aten::hardswish(Tensor self) -> Tensor` */
  hardswish(): Tensor {
    const op = ids[139] ?? resolve(139);
    return one(native.call(op, handle(this)));
  }

  /** `aten::relu(Tensor self) -> Tensor` */
  relu(): Tensor {
    const op = ids[140] ?? resolve(140);
    return one(native.call(op, handle(this)));
  }

  /** `aten::relu_(Tensor(a!) self) -> Tensor(a!)` */
  relu_(): this {
    const op = ids[141] ?? resolve(141);
    native.call(op, handle(this));
    return this;
  }

  /** `aten::hardtanh(Tensor self, Scalar min_val=-1, Scalar max_val=1) -> Tensor` */
  hardtanh(min_val?: number | boolean, max_val?: number | boolean): Tensor {
    const op = ids[142] ?? resolve(142);
    return one(native.call(op, handle(this), min_val, max_val));
  }

  /** `aten::hardtanh_(Tensor(a!) self, Scalar min_val=-1, Scalar max_val=1) -> Tensor(a!)` */
  hardtanh_(min_val?: number | boolean, max_val?: number | boolean): this {
    const op = ids[143] ?? resolve(143);
    native.call(op, handle(this), min_val, max_val);
    return this;
  }

  /** `aten::max_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, int[2] dilation=1, bool ceil_mode=False) -> Tensor` */
  maxPool2d(kernel_size: readonly number[] | number, stride?: readonly number[] | number, padding?: readonly number[] | number, dilation?: readonly number[] | number, ceil_mode?: boolean): Tensor {
    const op = ids[144] ?? resolve(144);
    return one(native.call(op, handle(this), kernel_size, stride, padding, dilation, ceil_mode));
  }

  /** `aten::avg_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, bool ceil_mode=False, bool count_include_pad=True, int? divisor_override=None) -> Tensor` */
  avgPool2d(kernel_size: readonly number[] | number, stride?: readonly number[] | number, padding?: readonly number[] | number, ceil_mode?: boolean, count_include_pad?: boolean, divisor_override?: number | null): Tensor {
    const op = ids[145] ?? resolve(145);
    return one(native.call(op, handle(this), kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override));
  }

  /** `aten::adaptive_avg_pool2d(Tensor self, SymInt[2] output_size) -> Tensor` */
  adaptiveAvgPool2d(output_size: readonly number[] | number): Tensor {
    const op = ids[146] ?? resolve(146);
    return one(native.call(op, handle(this), output_size));
  }

  /** `aten::softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor` */
  softmax(dim: number, dtype?: DType | null): Tensor {
    const op = ids[149] ?? resolve(149);
    return one(native.call(op, handle(this), dim, dtype));
  }

  /** `aten::log_softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor` */
  logSoftmax(dim: number, dtype?: DType | null): Tensor {
    const op = ids[150] ?? resolve(150);
    return one(native.call(op, handle(this), dim, dtype));
  }

  /** `aten::cross_entropy_loss(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, int ignore_index=-100, float label_smoothing=0.) -> Tensor` */
  crossEntropyLoss(target: Tensor | number, weight?: Tensor | null, reduction?: number, ignore_index?: number, label_smoothing?: number): Tensor {
    const op = ids[151] ?? resolve(151);
    return one(native.call(op, handle(this), operand(target), optionalHandle(weight), reduction, ignore_index, label_smoothing));
  }

  /** `aten::nll_loss(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, int ignore_index=-100) -> Tensor` */
  nllLoss(target: Tensor | number, weight?: Tensor | null, reduction?: number, ignore_index?: number): Tensor {
    const op = ids[152] ?? resolve(152);
    return one(native.call(op, handle(this), operand(target), optionalHandle(weight), reduction, ignore_index));
  }

  /** `aten::mse_loss(Tensor self, Tensor target, int reduction=1) -> Tensor` */
  mseLoss(target: Tensor | number, reduction?: number): Tensor {
    const op = ids[153] ?? resolve(153);
    return one(native.call(op, handle(this), operand(target), reduction));
  }

  /** `aten::binary_cross_entropy_with_logits(Tensor self, Tensor target, Tensor? weight=None, Tensor? pos_weight=None, int reduction=1) -> Tensor` */
  binaryCrossEntropyWithLogits(target: Tensor | number, weight?: Tensor | null, pos_weight?: Tensor | null, reduction?: number): Tensor {
    const op = ids[154] ?? resolve(154);
    return one(native.call(op, handle(this), operand(target), optionalHandle(weight), optionalHandle(pos_weight), reduction));
  }

  /** `aten::upsample_bilinear2d(Tensor self, SymInt[2] output_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor` */
  upsampleBilinear2d(output_size: readonly number[] | number, align_corners: boolean, scales_h?: number | null, scales_w?: number | null): Tensor {
    const op = ids[155] ?? resolve(155);
    return one(native.call(op, handle(this), output_size, align_corners, scales_h, scales_w));
  }

  /** `aten::upsample_bicubic2d(Tensor self, SymInt[2] output_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor` */
  upsampleBicubic2d(output_size: readonly number[] | number, align_corners: boolean, scales_h?: number | null, scales_w?: number | null): Tensor {
    const op = ids[156] ?? resolve(156);
    return one(native.call(op, handle(this), output_size, align_corners, scales_h, scales_w));
  }

  /** `aten::_upsample_bicubic2d_aa(Tensor self, SymInt[2] output_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor` */
  upsampleBicubic2dAntialias(output_size: readonly number[] | number, align_corners: boolean, scales_h?: number | null, scales_w?: number | null): Tensor {
    const op = ids[157] ?? resolve(157);
    return one(native.call(op, handle(this), output_size, align_corners, scales_h, scales_w));
  }
}

/** `aten::where.self(Tensor condition, Tensor self, Tensor other) -> Tensor` */
export function where(condition: Tensor | number, self: Tensor, other: Tensor | number): Tensor {
  const op = ids[36] ?? resolve(36);
  return one(native.call(op, operand(condition), handle(self), operand(other)));
}

/** `aten::cat(Tensor[] tensors, int dim=0) -> Tensor` */
export function cat(tensors: readonly Tensor[], dim?: number): Tensor {
  const op = ids[97] ?? resolve(97);
  return one(native.call(op, handles(tensors), dim));
}

/** `aten::stack(Tensor[] tensors, int dim=0) -> Tensor` */
export function stack(tensors: readonly Tensor[], dim?: number): Tensor {
  const op = ids[98] ?? resolve(98);
  return one(native.call(op, handles(tensors), dim));
}

/** `aten::empty.memory_format(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor` */
export function empty(size: readonly number[], options?: { dtype?: DType | null; layout?: "strided" | null; device?: string | null; pin_memory?: boolean | null; memory_format?: MemoryFormat | null }): Tensor {
  const op = ids[99] ?? resolve(99);
  return one(native.call(op, size, options?.dtype, options?.layout, options?.device, options?.pin_memory, options?.memory_format));
}

/** `aten::zeros(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor` */
export function zeros(size: readonly number[], options?: { dtype?: DType | null; layout?: "strided" | null; device?: string | null; pin_memory?: boolean | null }): Tensor {
  const op = ids[100] ?? resolve(100);
  return one(native.call(op, size, options?.dtype, options?.layout, options?.device, options?.pin_memory));
}

/** `aten::ones(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor` */
export function ones(size: readonly number[], options?: { dtype?: DType | null; layout?: "strided" | null; device?: string | null; pin_memory?: boolean | null }): Tensor {
  const op = ids[101] ?? resolve(101);
  return one(native.call(op, size, options?.dtype, options?.layout, options?.device, options?.pin_memory));
}

/** `aten::full(SymInt[] size, Scalar fill_value, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor` */
export function full(size: readonly number[], fill_value: number | boolean, options?: { dtype?: DType | null; layout?: "strided" | null; device?: string | null; pin_memory?: boolean | null }): Tensor {
  const op = ids[102] ?? resolve(102);
  return one(native.call(op, size, fill_value, options?.dtype, options?.layout, options?.device, options?.pin_memory));
}

/** `aten::eye(int n, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor` */
export function eye(n: number, options?: { dtype?: DType | null; layout?: "strided" | null; device?: string | null; pin_memory?: boolean | null }): Tensor {
  const op = ids[103] ?? resolve(103);
  return one(native.call(op, n, options?.dtype, options?.layout, options?.device, options?.pin_memory));
}

/** `aten::arange.start_step(Scalar start, Scalar end, Scalar step=1, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor` */
export function arange(start: number | boolean, end: number | boolean, step?: number | boolean, options?: { dtype?: DType | null; layout?: "strided" | null; device?: string | null; pin_memory?: boolean | null }): Tensor {
  const op = ids[104] ?? resolve(104);
  return one(native.call(op, start, end, step, options?.dtype, options?.layout, options?.device, options?.pin_memory));
}

/** `aten::randperm.generator(int n, *, Generator? generator, ScalarType? dtype=4, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor` */
export function randperm(n: number, options?: { generator?: RandomGenerator | null; dtype?: DType | null; layout?: "strided" | null; device?: string | null; pin_memory?: boolean | null }): Tensor {
  const op = ids[114] ?? resolve(114);
  return one(native.call(op, n, generatorId(options?.generator), options?.dtype, options?.layout, options?.device, options?.pin_memory));
}

/** `aten::linalg_svd(Tensor A, bool full_matrices=True, *, str? driver=None) -> (Tensor U, Tensor S, Tensor Vh)` */
export function linalgSvd(A: Tensor | number, full_matrices?: boolean, options?: { driver?: string | null }): [Tensor, Tensor, Tensor] {
  const op = ids[124] ?? resolve(124);
  return many(native.call(op, operand(A), full_matrices, options?.driver)) as [Tensor, Tensor, Tensor];
}

/** `aten::linalg_svdvals(Tensor A, *, str? driver=None) -> Tensor` */
export function linalgSvdvals(A: Tensor | number, options?: { driver?: string | null }): Tensor {
  const op = ids[125] ?? resolve(125);
  return one(native.call(op, operand(A), options?.driver));
}

/** `aten::linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor` */
export function linear(input: Tensor | number, weight: Tensor | number, bias?: Tensor | null): Tensor {
  const op = ids[130] ?? resolve(130);
  return one(native.call(op, operand(input), operand(weight), optionalHandle(bias)));
}

/** `aten::conv2d(Tensor input, Tensor weight, Tensor? bias=None, int[2] stride=1, int[2] padding=0, int[2] dilation=1, int groups=1) -> Tensor` */
export function conv2d(input: Tensor | number, weight: Tensor | number, bias?: Tensor | null, stride?: readonly number[] | number, padding?: readonly number[] | number, dilation?: readonly number[] | number, groups?: number): Tensor {
  const op = ids[131] ?? resolve(131);
  return one(native.call(op, operand(input), operand(weight), optionalHandle(bias), stride, padding, dilation, groups));
}

/** `aten::batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool training, float momentum, float eps, bool cudnn_enabled) -> Tensor` */
export function batchNorm(input: Tensor | number, weight: Tensor | null, bias: Tensor | null, running_mean: Tensor | null, running_var: Tensor | null, training: boolean, momentum: number, eps: number, cudnn_enabled: boolean): Tensor {
  const op = ids[132] ?? resolve(132);
  return one(native.call(op, operand(input), optionalHandle(weight), optionalHandle(bias), optionalHandle(running_mean), optionalHandle(running_var), training, momentum, eps, cudnn_enabled));
}

/** `aten::batch_norm_update_stats(Tensor input, Tensor? running_mean, Tensor? running_var, float momentum) -> (Tensor, Tensor)` */
export function batchNormUpdateStats(input: Tensor | number, running_mean: Tensor | null, running_var: Tensor | null, momentum: number): [Tensor, Tensor] {
  const op = ids[133] ?? resolve(133);
  return many(native.call(op, operand(input), optionalHandle(running_mean), optionalHandle(running_var), momentum)) as [Tensor, Tensor];
}

/** `aten::group_norm(Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, float eps=1.0000000000000001e-05, bool cudnn_enabled=True) -> Tensor` */
export function groupNorm(input: Tensor | number, num_groups: number, weight?: Tensor | null, bias?: Tensor | null, eps?: number, cudnn_enabled?: boolean): Tensor {
  const op = ids[134] ?? resolve(134);
  return one(native.call(op, operand(input), num_groups, optionalHandle(weight), optionalHandle(bias), eps, cudnn_enabled));
}

/** `aten::layer_norm(Tensor input, int[] normalized_shape, Tensor? weight=None, Tensor? bias=None, float eps=1.0000000000000001e-05, bool cudnn_enable=True) -> Tensor` */
export function layerNorm(input: Tensor | number, normalized_shape: readonly number[], weight?: Tensor | null, bias?: Tensor | null, eps?: number, cudnn_enable?: boolean): Tensor {
  const op = ids[135] ?? resolve(135);
  return one(native.call(op, operand(input), normalized_shape, optionalHandle(weight), optionalHandle(bias), eps, cudnn_enable));
}

/** `aten::embedding(Tensor weight, Tensor indices, int padding_idx=-1, bool scale_grad_by_freq=False, bool sparse=False) -> Tensor` */
export function embedding(weight: Tensor | number, indices: Tensor | number, padding_idx?: number, scale_grad_by_freq?: boolean, sparse?: boolean): Tensor {
  const op = ids[147] ?? resolve(147);
  return one(native.call(op, operand(weight), operand(indices), padding_idx, scale_grad_by_freq, sparse));
}

/** `aten::dropout(Tensor input, float p, bool train) -> Tensor` */
export function dropout(input: Tensor | number, p: number, train: boolean): Tensor {
  const op = ids[148] ?? resolve(148);
  return one(native.call(op, operand(input), p, train));
}

/** `aten::_foreach_add_.Scalar(Tensor(a!)[] self, Scalar scalar) -> ()` */
export function _foreachAddScalar_(self: readonly Tensor[], scalar: number | boolean): void {
  const op = ids[158] ?? resolve(158);
  native.call(op, handles(self), scalar);
}

/** `aten::_foreach_add_.List(Tensor(a!)[] self, Tensor[] other, *, Scalar alpha=1) -> ()` */
export function _foreachAdd_(self: readonly Tensor[], other: readonly Tensor[], options?: { alpha?: number | boolean }): void {
  const op = ids[159] ?? resolve(159);
  native.call(op, handles(self), handles(other), options?.alpha);
}

/** `aten::_foreach_add.List(Tensor[] self, Tensor[] other, *, Scalar alpha=1) -> Tensor[]` */
export function _foreachAdd(self: readonly Tensor[], other: readonly Tensor[], options?: { alpha?: number | boolean }): Tensor[] {
  const op = ids[160] ?? resolve(160);
  return many(native.call(op, handles(self), handles(other), options?.alpha));
}

/** `aten::_foreach_sub.List(Tensor[] self, Tensor[] other, *, Scalar alpha=1) -> Tensor[]` */
export function _foreachSub(self: readonly Tensor[], other: readonly Tensor[], options?: { alpha?: number | boolean }): Tensor[] {
  const op = ids[161] ?? resolve(161);
  return many(native.call(op, handles(self), handles(other), options?.alpha));
}

/** `aten::_foreach_mul_.Scalar(Tensor(a!)[] self, Scalar scalar) -> ()` */
export function _foreachMulScalar_(self: readonly Tensor[], scalar: number | boolean): void {
  const op = ids[162] ?? resolve(162);
  native.call(op, handles(self), scalar);
}

/** `aten::_foreach_mul.Scalar(Tensor[] self, Scalar scalar) -> Tensor[]` */
export function _foreachMulScalar(self: readonly Tensor[], scalar: number | boolean): Tensor[] {
  const op = ids[163] ?? resolve(163);
  return many(native.call(op, handles(self), scalar));
}

/** `aten::_foreach_addcmul_.Scalar(Tensor(a!)[] self, Tensor[] tensor1, Tensor[] tensor2, Scalar value=1) -> ()` */
export function _foreachAddcmul_(self: readonly Tensor[], tensor1: readonly Tensor[], tensor2: readonly Tensor[], value?: number | boolean): void {
  const op = ids[164] ?? resolve(164);
  native.call(op, handles(self), handles(tensor1), handles(tensor2), value);
}

/** `aten::_foreach_addcdiv_.Scalar(Tensor(a!)[] self, Tensor[] tensor1, Tensor[] tensor2, Scalar value=1) -> ()` */
export function _foreachAddcdiv_(self: readonly Tensor[], tensor1: readonly Tensor[], tensor2: readonly Tensor[], value?: number | boolean): void {
  const op = ids[165] ?? resolve(165);
  native.call(op, handles(self), handles(tensor1), handles(tensor2), value);
}

/** `aten::_foreach_sqrt(Tensor[] self) -> Tensor[]` */
export function _foreachSqrt(self: readonly Tensor[]): Tensor[] {
  const op = ids[166] ?? resolve(166);
  return many(native.call(op, handles(self)));
}

/** `aten::_foreach_norm.Scalar(Tensor[] self, Scalar ord=2) -> Tensor[]` */
export function _foreachNorm(self: readonly Tensor[], ord?: number | boolean): Tensor[] {
  const op = ids[167] ?? resolve(167);
  return many(native.call(op, handles(self), ord));
}

/** `aten::_foreach_div_.ScalarList(Tensor(a!)[] self, Scalar[] scalars) -> ()` */
export function _foreachDivScalars_(self: readonly Tensor[], scalars: readonly (number | boolean)[]): void {
  const op = ids[168] ?? resolve(168);
  native.call(op, handles(self), scalars);
}

/** `aten::_fused_adam_(Tensor(a!)[] self, Tensor(b!)[] grads, Tensor(c!)[] exp_avgs, Tensor(d!)[] exp_avg_sqs, Tensor(e!)[] max_exp_avg_sqs, Tensor[] state_steps, *, float lr, float beta1, float beta2, float weight_decay, float eps, bool amsgrad, bool maximize, Tensor? grad_scale=None, Tensor? found_inf=None) -> ()` */
export function _fusedAdam_(self: readonly Tensor[], grads: readonly Tensor[], exp_avgs: readonly Tensor[], exp_avg_sqs: readonly Tensor[], max_exp_avg_sqs: readonly Tensor[], state_steps: readonly Tensor[], options: { lr: number; beta1: number; beta2: number; weight_decay: number; eps: number; amsgrad: boolean; maximize: boolean; grad_scale?: Tensor | null; found_inf?: Tensor | null }): void {
  const op = ids[169] ?? resolve(169);
  native.call(op, handles(self), handles(grads), handles(exp_avgs), handles(exp_avg_sqs), handles(max_exp_avg_sqs), handles(state_steps), options.lr, options.beta1, options.beta2, options.weight_decay, options.eps, options.amsgrad, options.maximize, optionalHandle(options.grad_scale), optionalHandle(options.found_inf));
}

/** `nudge::fold_norm(Tensor weight, Tensor gamma, Tensor beta, Tensor mean, Tensor variance, float eps, bool half) -> (Tensor, Tensor)` */
export function foldNorm(weight: Tensor | number, gamma: Tensor | number, beta: Tensor | number, mean: Tensor | number, variance: Tensor | number, eps: number, half: boolean): [Tensor, Tensor] {
  const op = ids[170] ?? resolve(170);
  return many(native.call(op, operand(weight), operand(gamma), operand(beta), operand(mean), operand(variance), eps, half)) as [Tensor, Tensor];
}

/** `nudge::fold_norms(Tensor[] tensors, float[] eps, bool half) -> Tensor[]` */
export function foldNorms(tensors: readonly Tensor[], eps: readonly number[], half: boolean): Tensor[] {
  const op = ids[171] ?? resolve(171);
  return many(native.call(op, handles(tensors), eps, half));
}

/** `nudge::bias_clamp(Tensor y, Tensor bias, Tensor? residual, float low, float high) -> Tensor` */
export function biasClamp(y: Tensor | number, bias: Tensor | number, residual: Tensor | null, low: number, high: number): Tensor {
  const op = ids[172] ?? resolve(172);
  return one(native.call(op, operand(y), operand(bias), optionalHandle(residual), low, high));
}

/** `nudge::bias_clamp_twice(Tensor y, Tensor bias, Tensor? residual, float low, float high) -> (Tensor, Tensor)` */
export function biasClampTwice(y: Tensor | number, bias: Tensor | number, residual: Tensor | null, low: number, high: number): [Tensor, Tensor] {
  const op = ids[173] ?? resolve(173);
  return many(native.call(op, operand(y), operand(bias), optionalHandle(residual), low, high)) as [Tensor, Tensor];
}

/** `nudge::depthwise(Tensor x, Tensor weight, int stride) -> Tensor` */
export function depthwise(x: Tensor | number, weight: Tensor | number, stride: number): Tensor {
  const op = ids[174] ?? resolve(174);
  return one(native.call(op, operand(x), operand(weight), stride));
}

/** `nudge::depthwise_clamp(Tensor x, Tensor weight, Tensor bias, int stride, float low, float high) -> Tensor` */
export function depthwiseClamp(x: Tensor | number, weight: Tensor | number, bias: Tensor | number, stride: number, low: number, high: number): Tensor {
  const op = ids[175] ?? resolve(175);
  return one(native.call(op, operand(x), operand(weight), operand(bias), stride, low, high));
}

/** `nudge::wide_depthwise(Tensor x, Tensor weight, Tensor? bias) -> Tensor` */
export function wideDepthwise(x: Tensor | number, weight: Tensor | number, bias?: Tensor | null): Tensor {
  const op = ids[176] ?? resolve(176);
  return one(native.call(op, operand(x), operand(weight), optionalHandle(bias)));
}

/** `nudge::grouped_conv(Tensor x, Tensor weight, int stride, int padding, int groups, int widest) -> Tensor` */
export function groupedConv(x: Tensor | number, weight: Tensor | number, stride: number, padding: number, groups: number, widest: number): Tensor {
  const op = ids[177] ?? resolve(177);
  return one(native.call(op, operand(x), operand(weight), stride, padding, groups, widest));
}

/** `nudge::conv2d(Tensor x, Tensor weight, Tensor? bias, int stride, int padding, int groups) -> Tensor` */
export function twiceConv2d(x: Tensor | number, weight: Tensor | number, bias: Tensor | null, stride: number, padding: number, groups: number): Tensor {
  const op = ids[178] ?? resolve(178);
  return one(native.call(op, operand(x), operand(weight), optionalHandle(bias), stride, padding, groups));
}

/** `nudge::linear(Tensor x, Tensor weight, Tensor bias) -> Tensor` */
export function fusedLinear(x: Tensor | number, weight: Tensor | number, bias: Tensor | number): Tensor {
  const op = ids[179] ?? resolve(179);
  return one(native.call(op, operand(x), operand(weight), operand(bias)));
}

/** `nudge::linear_gelu(Tensor x, Tensor weight, Tensor bias) -> Tensor` */
export function linearGelu(x: Tensor | number, weight: Tensor | number, bias: Tensor | number): Tensor {
  const op = ids[180] ?? resolve(180);
  return one(native.call(op, operand(x), operand(weight), operand(bias)));
}

/** `nudge::max_pool(Tensor x) -> Tensor` */
export function fusedMaxPool(x: Tensor | number): Tensor {
  const op = ids[181] ?? resolve(181);
  return one(native.call(op, operand(x)));
}

/** `nudge::layer_norm(Tensor x, Tensor? residual, Tensor weight, Tensor bias, float eps, bool half) -> (Tensor, Tensor)` */
export function fusedLayerNorm(x: Tensor | number, residual: Tensor | null, weight: Tensor | number, bias: Tensor | number, eps: number, half: boolean): [Tensor, Tensor] {
  const op = ids[182] ?? resolve(182);
  return many(native.call(op, operand(x), optionalHandle(residual), operand(weight), operand(bias), eps, half)) as [Tensor, Tensor];
}

/** `nudge::relu_norm(Tensor x, Tensor? shift, Tensor weight, Tensor bias, int groups, float eps) -> Tensor` */
export function reluNorm(x: Tensor | number, shift: Tensor | null, weight: Tensor | number, bias: Tensor | number, groups: number, eps: number): Tensor {
  const op = ids[183] ?? resolve(183);
  return one(native.call(op, operand(x), optionalHandle(shift), operand(weight), operand(bias), groups, eps));
}

/** `nudge::channel_mean(Tensor x) -> (Tensor, Tensor)` */
export function channelMean(x: Tensor | number): [Tensor, Tensor] {
  const op = ids[184] ?? resolve(184);
  return many(native.call(op, operand(x))) as [Tensor, Tensor];
}

/** `nudge::channel_scale(Tensor x, Tensor factors) -> Tensor` */
export function channelScale(x: Tensor | number, factors: Tensor | number): Tensor {
  const op = ids[185] ?? resolve(185);
  return one(native.call(op, operand(x), operand(factors)));
}

/** `nudge::scale_add(Tensor x, Tensor branch, Tensor gamma, Tensor? keep) -> Tensor` */
export function scaleAdd(x: Tensor | number, branch: Tensor | number, gamma: Tensor | number, keep?: Tensor | null): Tensor {
  const op = ids[186] ?? resolve(186);
  return one(native.call(op, operand(x), operand(branch), operand(gamma), optionalHandle(keep)));
}

/** `nudge::adam(Tensor(a!)[] parameters, Tensor[] gradients, Tensor(b!)[] means, Tensor(c!)[] squares, Tensor[] steps, float lr, float beta1, float beta2, float weight_decay, float eps) -> ()` */
export function updateByAdam(parameters: readonly Tensor[], gradients: readonly Tensor[], means: readonly Tensor[], squares: readonly Tensor[], steps: readonly Tensor[], lr: number, beta1: number, beta2: number, weight_decay: number, eps: number): void {
  const op = ids[187] ?? resolve(187);
  native.call(op, handles(parameters), handles(gradients), handles(means), handles(squares), handles(steps), lr, beta1, beta2, weight_decay, eps);
}

/** `nudge::adam_host(Tensor(a!)[] parameters, Tensor[] gradients, Tensor(b!)[] means, Tensor(c!)[] squares, float step, float root, float beta1, float beta2, float decay, float shrink, float eps) -> ()` */
export function updateByAdamOnHost(parameters: readonly Tensor[], gradients: readonly Tensor[], means: readonly Tensor[], squares: readonly Tensor[], step: number, root: number, beta1: number, beta2: number, decay: number, shrink: number, eps: number): void {
  const op = ids[188] ?? resolve(188);
  native.call(op, handles(parameters), handles(gradients), handles(means), handles(squares), step, root, beta1, beta2, decay, shrink, eps);
}

/** `nudge::augment(Tensor source, Tensor samples, int size, int tallest, Tensor mean, Tensor deviation, bool channels_last, bool bicubic) -> Tensor` */
export function augmentPictures(source: Tensor | number, samples: Tensor | number, size: number, tallest: number, mean: Tensor | number, deviation: Tensor | number, channels_last: boolean, bicubic: boolean): Tensor {
  const op = ids[189] ?? resolve(189);
  return one(native.call(op, operand(source), operand(samples), size, tallest, operand(mean), operand(deviation), channels_last, bicubic));
}
