/**
 * ONNX translations of the operators that layers use: products, convolutions, norms, activations, pooling and
 * attention.
 */

import type { CallSite } from "./call-site.js";
import type { Value } from "./onnx-graph.js";
import type { Translation } from "./onnx-operators.js";
import type { TracedCall, TracedTensor } from "./trace.js";

/** y = x·Wᵀ + b, as one node if x is a matrix. */
const linear: Translation = (site) => {
  const [input, weight] = [site.tensor("input"), site.tensor("weight")];
  const bias = site.has("bias") ? [site.in("bias")] : [];
  if (input.shape.length === 2) return site.node("Gemm", [site.in("input"), site.in("weight"), ...bias], { transB: 1 });
  const turned = weight.constant
    ? site.graph.weights(weight, (constant) => constant.t())
    : site.node("Transpose", [site.in("weight")], { perm: [1, 0] });
  const product = site.node("MatMul", [site.in("input"), turned]);
  return bias.length > 0 ? site.node("Add", [product, bias[0]]) : product;
};

/** beta·self + alpha·a·b */
const addedProduct =
  (a: string, b: string): Translation =>
  (site) => {
    const [alpha, beta] = [site.number("alpha", 1), site.number("beta", 1)];
    const times = (value: Value, factor: number): Value =>
      factor === 1 ? value : site.node("Mul", [value, site.scalar(factor)]);
    const product = times(site.node("MatMul", [site.in(a), site.in(b)]), alpha);
    return beta === 0 ? product : site.node("Add", [times(site.in("self"), beta), product]);
  };

const product =
  (other: string): Translation =>
  (site) =>
    site.node("MatMul", [site.in("self"), site.in(other)]);

/** A convolution over one or more dimensions. The batch norm after it is folded into its weights, if there is one. */
const convolution: Translation = (site) => {
  const weight = site.tensor("weight");
  const kernel = weight.shape.slice(2) as readonly number[];
  if (typeof site.call.arguments.padding === "string") return site.fail("padding is given as a word");
  const list = (name: string, usual: number): readonly number[] =>
    site.numbers(
      name,
      kernel.map(() => usual),
    );
  const padding = list("padding", 0);
  const attributes = {
    kernel_shape: kernel,
    strides: list("stride", 1),
    pads: [...padding, ...padding],
    dilations: list("dilation", 1),
    group: site.call.operator === "depthwise" ? Number(weight.shape[0]) : site.number("groups", 1),
  };
  if (!site.norm) {
    const bias = site.has("bias") ? [site.in("bias")] : [];
    return site.node("Conv", [site.in("input"), site.in("weight"), ...bias], attributes);
  }
  const { scale, shift, bias } = affine(site.norm);
  const ones = kernel.map(() => 1);
  const folded = site.graph.weights(weight, (constant) => constant.mul(scale().view(-1, 1, ...ones)));
  const own = site.has("bias") ? site.tensor("bias").constant! : undefined;
  const moved = site.graph.weights(bias, () => (own ? shift().add(own.mul(scale())) : shift()));
  return site.node("Conv", [site.in("input"), folded, moved], attributes);
};

interface Affine {
  readonly scale: () => NonNullable<TracedTensor["constant"]>;
  readonly shift: () => NonNullable<TracedTensor["constant"]>;
  readonly bias: TracedTensor;
}

/** A batch norm in evaluation mode as x·scale + shift per channel. */
function affine({ arguments: given }: TracedCall): Affine {
  const constant = (name: string) => (given[name] as TracedTensor | null | undefined)?.constant;
  const [mean, variance] = [constant("running_mean")!, constant("running_var")!];
  const scale = () => {
    const inverse = variance.add(given.eps as number).rsqrt();
    return constant("weight")?.mul(inverse) ?? inverse;
  };
  const shift = () => {
    const moved = mean.mul(scale()).neg();
    return constant("bias")?.add(moved) ?? moved;
  };
  return { scale, shift, bias: (given.bias ?? given.running_mean) as TracedTensor };
}

/** A batch norm without a convolution before it, as a factor and an offset per channel. */
const batchNorm: Translation = (site) => {
  if (!hasFixedStatistics(site.call)) return site.fail("it uses the statistics of the batch");
  const { scale, shift, bias } = affine(site.call);
  const shape = [
    -1,
    ...site
      .tensor("input")
      .shape.slice(2)
      .map(() => 1),
  ];
  const factor = site.graph.weights(bias, () => scale().view(...shape));
  const term = site.graph.weights(bias, () => shift().view(...shape));
  return site.node("Add", [site.node("Mul", [site.in("input"), factor]), term]);
};

const CONVOLUTIONS = /^(conv[12]d|depthwise)$/;

/**
 * The batch norms that are folded into the convolution before them, and that convolution, if no other operator reads
 * its output.
 */
export function foldedNorms(
  calls: readonly TracedCall[],
  outputs: readonly TracedTensor[],
): Map<TracedCall, TracedCall> {
  const makers = new Map(calls.flatMap((call) => call.outputs.map((output) => [output, call] as const)));
  const reads = [...outputs, ...calls.flatMap((call) => Object.values(call.arguments).flat())];
  const pairs = calls.flatMap((norm): [TracedCall, TracedCall][] => {
    const input = norm.arguments.input as TracedTensor;
    const conv = norm.operator === "batch_norm" && hasFixedStatistics(norm) ? makers.get(input) : undefined;
    if (!conv || !CONVOLUTIONS.test(conv.operator) || reads.filter((each) => each === input).length > 1) return [];
    const isConstant = (name: string) => !conv.arguments[name] || (conv.arguments[name] as TracedTensor).constant;
    return isConstant("weight") && isConstant("bias") ? [[norm, conv]] : [];
  });
  return new Map(pairs);
}

const hasFixedStatistics = ({
  arguments: { training, running_mean, running_var, weight, bias },
}: TracedCall): boolean =>
  training === false &&
  [running_mean, running_var].every((each) => (each as TracedTensor | null)?.constant) &&
  [weight, bias].every((each) => !each || (each as TracedTensor).constant);

/** Normalizes over the last dimensions. */
const layerNorm: Translation = (site) => {
  const sizes = site.numbers("normalized_shape", []);
  const weight = site.has("weight")
    ? site.in("weight")
    : site.graph.numbers(new Array<number>(sizes.reduce((n, size) => n * size, 1)).fill(1), { shape: sizes });
  const inputs = [site.in("input"), weight, ...(site.has("bias") ? [site.in("bias")] : [])];
  return [
    site.node("LayerNormalization", inputs, { axis: -sizes.length, epsilon: { float: site.number("eps", 1e-5) } }),
  ];
};

/**
 * Group norm as an instance norm of the groups, which every version of every runtime supports, then weight and bias.
 */
const groupNorm: Translation = (site) => {
  const { shape } = site.tensor("input");
  const groups = site.number("num_groups");
  const apart = site.reshape(site.in("input"), [
    shape[0],
    groups,
    shape.slice(1).reduce<number>((n, size) => n * Number(size), 1) / groups,
  ]);
  const [one, zero] = [1, 0].map((value) => site.graph.numbers(new Array<number>(groups).fill(value)));
  const normed = site.node("InstanceNormalization", [apart, one, zero], {
    epsilon: { float: site.number("eps", 1e-5) },
  });
  let value = site.reshape(normed);
  const channels = [-1, ...shape.slice(2).map(() => 1)];
  for (const [name, operator] of [["weight", "Mul"], ["bias", "Add"]] as const) // biome-ignore format: pairs
    if (site.has(name)) {
      const own = site.graph.weights(site.tensor(name), (constant) => constant.view(...channels));
      value = site.node(operator, [value, own]);
    }
  return value;
};

/** Pooling windows over the last two dimensions. */
const pool =
  (operator: "MaxPool" | "AveragePool"): Translation =>
  (site) => {
    if (site.has("divisor_override")) return site.fail("divisor_override is given");
    const kernel = site.numbers("kernel_size", [1, 1]);
    const given = site.numbers("stride", []);
    const padding = site.numbers("padding", [0, 0]);
    return site.node(operator, [site.in("self")], {
      kernel_shape: kernel,
      strides: given.length === 0 ? kernel : given.length === 1 ? [given[0], given[0]] : given,
      pads: [...padding, ...padding],
      ceil_mode: site.number("ceil_mode", 0),
      ...(operator === "MaxPool"
        ? { dilations: site.numbers("dilation", [1, 1]) }
        : { count_include_pad: site.number("count_include_pad", 1) }),
    });
  };

/** Average pooling over equal parts: the whole map, or windows that divide its size evenly. */
const adaptiveAverage: Translation = (site) => {
  const [, , height, width] = site.tensor("self").shape as readonly number[];
  const [rows, columns] = site.numbers("output_size", [1, 1]);
  if (rows === 1 && columns === 1) return site.node("GlobalAveragePool", [site.in("self")]);
  if (height % rows !== 0 || width % columns !== 0)
    return site.fail(`${height}×${width} does not divide into ${rows}×${columns}`);
  const window = [height / rows, width / columns];
  return site.node("AveragePool", [site.in("self")], { kernel_shape: window, strides: window });
};

/** softmax(Q·Kᵀ·scale + mask)·V */
const attention: Translation = (site) => {
  if (site.number("is_causal", 0) === 1) return site.fail("is_causal is set");
  const { shape } = site.tensor("query");
  const rank = shape.length;
  const perm = Array.from({ length: rank }, (_, i) => (i < rank - 2 ? i : 2 * rank - 3 - i));
  const keys = site.node("Transpose", [site.in("key")], { perm });
  const scale = site.scalar(site.has("scale") ? site.number("scale") : 1 / Math.sqrt(Number(shape.at(-1))));
  let scores = site.node("MatMul", [site.node("Mul", [site.in("query"), scale]), keys]);
  if (site.has("attn_mask")) {
    if (site.tensor("attn_mask").dtype === "bool") return site.fail("attn_mask is of truth values");
    scores = site.node("Add", [scores, site.in("attn_mask")]);
  }
  return [site.node("MatMul", [site.node("Softmax", [scores], { axis: -1 }), site.in("value")])];
};

const activation =
  (nodes: (site: CallSite, x: Value) => Value): Translation =>
  (site) =>
    nodes(site, site.in("self"));

const alongDim =
  (operator: string): Translation =>
  (site) =>
    site.node(operator, [site.in("self", site.out.dtype)], { axis: site.number("dim") });

/** Resizes to given sizes, with the same sample points as libtorch. */
const resize =
  (mode: string): Translation =>
  (site) => {
    const place =
      mode === "nearest" ? "asymmetric" : site.number("align_corners", 0) === 1 ? "align_corners" : "half_pixel";
    return site.node(
      "Resize",
      [site.in(site.has("self") ? "self" : "input"), "", "", site.graph.list(site.out.shape)],
      {
        mode: { text: mode },
        coordinate_transformation_mode: { text: place },
        nearest_mode: { text: "floor" },
        cubic_coeff_a: { float: -0.75 },
      },
    );
  };

export const layerOperators: Readonly<Record<string, Translation>> = {
  linear,
  matmul: product("other"),
  mm: product("mat2"),
  bmm: product("mat2"),
  addmm: addedProduct("mat1", "mat2"),
  baddbmm: addedProduct("batch1", "batch2"),
  conv1d: convolution,
  conv2d: convolution,
  depthwise: convolution, // native/src/depthwise.cc
  batch_norm: batchNorm,
  layer_norm: layerNorm,
  native_layer_norm: layerNorm,
  group_norm: groupNorm,
  scaled_dot_product_attention: attention,
  _scaled_dot_product_attention: attention,

  relu: activation((site, x) => site.node("Relu", [x])),
  relu6: activation((site, x) => site.node("Clip", [x, site.scalar(0), site.scalar(6)])),
  leaky_relu: activation((site, x) =>
    site.node("LeakyRelu", [x], { alpha: { float: site.number("negative_slope", 0.01) } }),
  ),
  elu: activation((site, x) => site.node("Elu", [x], { alpha: { float: site.number("alpha", 1) } })),
  silu: activation((site, x) => site.node("Mul", [x, site.node("Sigmoid", [x])])),
  mish: activation((site, x) => site.node("Mish", [x])),
  softplus: activation((site, x) =>
    site.number("beta", 1) === 1 ? site.node("Softplus", [x]) : site.fail("beta is not 1"),
  ),
  hardswish: activation((site, x) => site.node("HardSwish", [x])),
  hardsigmoid: activation((site, x) =>
    site.node("HardSigmoid", [x], { alpha: { float: 1 / 6 }, beta: { float: 0.5 } }),
  ),
  gelu: activation((site, x) =>
    site.node("Gelu", [x], { approximate: { text: String(site.call.arguments.approximate ?? "none") } }),
  ),
  softmax: alongDim("Softmax"),
  log_softmax: alongDim("LogSoftmax"),
  dropout: (site) =>
    site.number("train") === 1 && site.number("p") > 0 ? site.fail("it drops at random") : site.in("input"),

  max_pool2d: pool("MaxPool"),
  avg_pool2d: pool("AveragePool"),
  adaptive_avg_pool2d: adaptiveAverage,
  upsample_bilinear2d: resize("linear"),
  upsample_bicubic2d: resize("cubic"),
  upsample_nearest2d: resize("nearest"),
  embedding: (site) => site.node("Gather", [site.in("weight"), site.in("indices")], { axis: 0 }),
};
