/**
 * Compares the custom kernels (native/src/fused.cc, depthwise.cc, grouped-conv.cc, linear.cc, max-pool.cc, layer-norm.cc,
 * channel-factors.cc, augment-kernels.cc) with equivalent float64 computations on the CPU. On a device without them (the CPU, a GPU without NVRTC), the fallback
 * operators are checked in the same way.
 */

import { augmentOnHost, centreCropDraw, drawAugmentation, drawLength, type PixelBlock } from "../data/augment.js";
import { augmentOnDevice } from "../data/augment-device.js";
import { blockOf, joinedOnHost } from "../data/file-pictures.js";
import {
  biasClamp,
  biasClampTwice,
  channelMean,
  channelScale,
  conv2d,
  depthwise,
  depthwiseClamp,
  foldNorm,
  foldNorms,
  fusedLayerNorm,
  fusedLinear,
  fusedMaxPool,
  groupedConv,
  groupNorm,
  layerNorm,
  linear,
  linearGelu,
  reluNorm,
  scaleAdd,
  wideDepthwise,
} from "../engine/ops.generated.js";
import { Random } from "../engine/random.js";
import { scope } from "../engine/scope.js";
import { grad, type Tensor, tensor } from "../engine/tensor.js";
import type { CheckResult } from "./self-test.js";

/** bfloat16 has 8 significant bits, and sums of many numbers lose a few more. */
const TOLERANCE = 2 ** -6;

/** Pairs of a kernel's result and the expected result. */
type Pairs = readonly (readonly [what: string, got: Tensor, expected: Tensor])[];

export const kernelChecks = (device: string): [name: string, check: () => CheckResult][] => [
  ["kernel bias_clamp and its gradients", () => closeTo(() => biasClampPairs(device))],
  ["kernel bias_clamp for two gradients", () => closeTo(() => biasClampTwicePairs(device))],
  ["kernel fold_norm and its gradients", () => closeTo(() => foldNormPairs(device))],
  ["kernel depthwise and its gradients, stride 1", () => closeTo(() => depthwisePairs(device, 1))],
  ["kernel depthwise and its gradients, stride 2", () => closeTo(() => depthwisePairs(device, 2))],
  ["kernel depthwise_clamp as depthwise and bias_clamp, stride 1", () => closeTo(() => depthwiseClampPairs(device, 1))],
  ["kernel depthwise_clamp as depthwise and bias_clamp, stride 2", () => closeTo(() => depthwiseClampPairs(device, 2))],
  ["second derivatives of depthwise_clamp, stride 1", () => closeTo(() => secondPairs(device, 1))],
  ["second derivatives of depthwise_clamp, stride 2", () => closeTo(() => secondPairs(device, 2))],
  ["pictures copied to the device together", () => closeTo(() => picturePairs(device))],
  ["kernel layer_norm and its gradients", () => closeTo(() => layerNormPairs(device))],
  ["kernel relu_norm and its gradients", () => closeTo(() => reluNormPairs(device, "contiguous", 28))],
  ["kernel relu_norm, smaller maps", () => closeTo(() => reluNormPairs(device, "contiguous", 14))],
  ["kernel relu_norm, channels last", () => closeTo(() => reluNormPairs(device, "channels_last", 28))],
  ["kernel relu_norm, smaller maps, channels last", () => closeTo(() => reluNormPairs(device, "channels_last", 14))],
  ["kernel channel_mean and its gradient", () => closeTo(() => channelMeanPairs(device))],
  ["kernel channel_scale and its gradients", () => closeTo(() => channelScalePairs(device))],
  ["kernel scale_add and its gradients", () => closeTo(() => scaleAddPairs(device))],
  ["grouped_conv and its gradients, groups apart", () => closeTo(() => groupedConvPairs(device, 112, 1))],
  ["grouped_conv and its gradients, pairs of groups", () => closeTo(() => groupedConvPairs(device, 256, 2))],
  ["grouped_conv and its gradients, all groups together", () => closeTo(() => groupedConvPairs(device, 1000, 2))],
  ["kernel fold_norms as fold_norm", () => closeTo(() => foldNormsPairs(device))],
  ["linear and its gradients", () => closeTo(() => linearPairs(device, fusedLinear, linear))],
  ["kernel gelu and its gradients, after linear", () => closeTo(() => linearPairs(device, linearGelu, geluOfLinear))],
  ["kernel max_pool and its gradient", () => closeTo(() => maxPoolPairs(device))],
  ["kernel wide_depthwise and its gradients, 5 × 5", () => closeTo(() => wideDepthwisePairs(device, 5))],
  ["kernel wide_depthwise and its gradients, 7 × 7", () => closeTo(() => wideDepthwisePairs(device, 7))],
  ["augmentation on the device", () => sameBytes(device)],
];

function drawn(name: string, shape: readonly number[], device: string, half = false): Tensor {
  const count = shape.reduce((product, size) => product * size, 1);
  const host = new Random(0, ["self-test", "kernels", name]).host();
  const values = tensor(
    Float32Array.from({ length: count }, () => host.uniform() * 2 - 1),
    { shape },
  );
  const memoryFormat = shape.length === 4 ? "channels_last" : "contiguous";
  return values.to({ device, dtype: half && device !== "cpu" ? "bfloat16" : "float32", memoryFormat });
}

/** Converts to float64 on the CPU. */
const exact = (x: Tensor): Tensor => x.detach().to({ dtype: "float64", device: "cpu", memoryFormat: "preserve" });

function closeTo(make: () => Pairs): CheckResult {
  return scope(() => {
    const errors = make().map(([what, got, expected]) => {
      const scale = expected.abs().max().item();
      return { what, error: exact(got).sub(expected).abs().max().item() / (scale || 1) };
    });
    const worst = errors.reduce((most, each) => (each.error <= most.error ? most : each)); // NaN is the worst
    return {
      ok: errors.every(({ error }) => error <= TOLERANCE),
      detail: `at most ${worst.error.toExponential(1)} of the largest value off (${worst.what})`,
    };
  });
}

function biasClampPairs(device: string): Pairs {
  const shape = [3, 24, 5, 7];
  const [y, residual, gradient] = ["y", "residual", "g"].map((name) => drawn(name, shape, device, true));
  const bias = drawn("bias", [24], device);
  for (const each of [y, residual, bias]) each.requiresGrad_();
  const out = biasClamp(y, bias, residual, 0, 0.5);
  const [ofY, ofBias, ofResidual] = grad(out, [y, bias, residual], { gradient });
  const inside = exact(out).gt(0).mul(exact(out).lt(0.5)).to({ dtype: "float64" });
  const expected = exact(gradient).mul(inside);
  const sum = exact(y)
    .add(exact(bias).view(1, -1, 1, 1))
    .add(exact(residual));
  return [
    ["output", out, sum.clamp(0, 0.5)],
    ["gradient of the map", ofY, expected],
    ["gradient of the bias", ofBias, expected.sum([0, 2, 3])],
    ["gradient of the residual", ofResidual, expected],
  ];
}

/** Compares two results, whose gradients a kernel adds, with one result that is used twice. */
function biasClampTwicePairs(device: string): Pairs {
  const [y, residual, g, h] = ["y", "residual", "g", "h"].map((name) => drawn(name, [3, 40, 9, 7], device, true));
  const bias = drawn("bias", [40], device);
  for (const each of [y, residual, bias]) each.requiresGrad_();
  const run = ([first, second]: readonly Tensor[]): Tensor[] => [
    first,
    ...grad(first.mul(g).sum().add(second.mul(h).sum()), [y, bias, residual]),
  ];
  const once = biasClamp(y, bias, residual, 0, 0.5);
  const [got, expected] = [run(biasClampTwice(y, bias, residual, 0, 0.5)), run([once, once])];
  const names = ["output", "gradient of the map", "gradient of the bias", "gradient of the residual"];
  return names.map((what, i) => [what, got[i], exact(expected[i])]);
}

/** Groups of 8 or 16 channels, as in the network for MNIST. */
function reluNormPairs(device: string, memoryFormat: "contiguous" | "channels_last", size: number): Pairs {
  const channels = size === 28 ? 64 : 128;
  const x = drawn("x", [3, channels, size, size], device).to({ memoryFormat }).detach().requiresGrad_();
  const [shift, weight, bias] = ["shift", "weight", "bias"].map((name) =>
    drawn(name, [channels], device).requiresGrad_(),
  );
  const g = drawn("g", x.shape, device);
  const got = reluNorm(x, shift, weight, bias, 8, 1e-5);
  const gradients = grad(got, [x, shift, weight, bias], { gradient: g });
  const all = [x, shift, weight, bias].map((each) => exact(each).requiresGrad_());
  const expected = groupNorm(all[0].add(all[1].view(1, -1, 1, 1)).relu(), 8, all[2], all[3], 1e-5, false);
  const names = ["x", "shift", "weight", "bias"].map((name) => `gradient of the ${name}`);
  const exactly = grad(expected, all, { gradient: exact(g) });
  return [["output", got, expected.detach()], ...names.map((name, i) => [name, gradients[i], exactly[i]] as const)];
}

function foldNormPairs(device: string): Pairs {
  const weight = drawn("weight", [40, 16, 1, 1], device).requiresGrad_();
  const [gamma, beta, mean] = ["gamma", "beta", "mean"].map((name) => drawn(name, [40], device));
  for (const each of [gamma, beta]) each.requiresGrad_();
  const variance = drawn("variance", [40], device).square().add(0.5);
  const [folded, shift] = foldNorm(weight, gamma, beta, mean, variance, 1e-5, device !== "cpu");
  const g = drawn("g", [40, 16, 1, 1], device, true);
  const h = drawn("h", [40], device);
  const value = folded.mul(g).to({ dtype: "float32" }).sum().add(shift.mul(h).sum());
  const [ofWeight, ofGamma, ofBeta] = grad(value, [weight, gamma, beta]);
  const one = exact(variance).add(1e-5).rsqrt();
  const scale = exact(gamma).mul(one);
  const ofScale = exact(g)
    .mul(exact(weight))
    .sum([1, 2, 3])
    .sub(exact(h).mul(exact(mean)));
  return [
    ["folded weight", folded, exact(weight).mul(scale.view(-1, 1, 1, 1))],
    ["shift", shift, exact(beta).sub(exact(mean).mul(scale))],
    ["gradient of the weight", ofWeight, exact(g).mul(scale.view(-1, 1, 1, 1))],
    ["gradient of gamma", ofGamma, ofScale.mul(one)],
    ["gradient of beta", ofBeta, exact(h)],
  ];
}

/** Pictures of odd lengths in one block, as decoded pictures are copied to a GPU: by pinned memory, without waiting. */
function picturePairs(device: string): Pairs {
  const parts = [7, 30_000, 1].map((length, k) => Uint8Array.from({ length }, (_, i) => (i * 7 + k) % 256));
  const sizes = Int32Array.from(parts.flatMap(({ length }) => [length / 3, 1]));
  using copied = device === "cpu" ? joinedOnHost(parts, false) : blockOf(parts, sizes, device).source!;
  return [["the bytes", copied.clone(), tensor(Buffer.concat(parts))]];
}

function depthwisePairs(device: string, stride: number): Pairs {
  const channels = 24;
  const x = drawn("x", [3, channels, 14, 15], device, true).requiresGrad_();
  const weight = drawn("kernel", [channels, 1, 3, 3], device, true).requiresGrad_();
  const y = depthwise(x, weight, stride);
  const gradient = drawn("g", y.shape, device, true);
  const [ofX, ofWeight] = grad(y, [x, weight], { gradient });
  const [x64, weight64] = [exact(x).requiresGrad_(), exact(weight).requiresGrad_()];
  const y64 = conv2d(x64, weight64, null, stride, 1, 1, channels);
  const expected = grad(y64, [x64, weight64], { gradient: exact(gradient) });
  return [
    ["output", y, y64.detach()],
    ["gradient of the map", ofX, expected[0]],
    ["gradient of the weight", ofWeight, expected[1]],
  ];
}

/** Compares one operator with two that round at the same places. */
function depthwiseClampPairs(device: string, stride: number): Pairs {
  const channels = 40;
  const x = drawn("x", [3, channels, 15, 14], device, true).requiresGrad_();
  const weight = drawn("kernel", [channels, 1, 3, 3], device, true).requiresGrad_();
  const bias = drawn("bias", [channels], device).requiresGrad_();
  const run = (one: boolean): Tensor[] => {
    const out = one
      ? depthwiseClamp(x, weight, bias, stride, 0, 0.7)
      : biasClamp(depthwise(x, weight, stride), bias, null, 0, 0.7);
    return [out, ...grad(out, [x, weight, bias], { gradient: drawn("g", out.shape, device, true) })];
  };
  const [got, expected] = [run(true), run(false)];
  const names = ["output", "gradient of the map", "gradient of the weight", "gradient of the bias"];
  return names.map((what, i) => [what, got[i], exact(expected[i])]);
}

/** Compares the gradients of a gradient penalty, as that of IGA, with those of ATen's convolution. */
function secondPairs(device: string, stride: number): Pairs {
  const channels = 40;
  const x = drawn("x", [3, channels, 15, 14], device, true);
  const [weight, ofWeight] = ["kernel", "h"].map((name) => drawn(name, [channels, 1, 3, 3], device, true));
  const bias = drawn("bias", [channels], device);
  const direction = drawn("g", x.shape, device, true);
  const run = (conv: (...inputs: Tensor[]) => Tensor, inputs: Tensor[], along: Tensor[]): Tensor[] => {
    for (const each of inputs) each.requiresGrad_();
    const first = grad(
      conv(...inputs)
        .square()
        .sum(),
      inputs.slice(0, 2),
      { createGraph: true },
    );
    const penalty = first.map((each, i) => each.mul(along[i]).sum()).reduce((sum, each) => sum.add(each));
    return grad(penalty, inputs);
  };
  const clamped = (...[map, kernel, shift]: Tensor[]): Tensor => depthwiseClamp(map, kernel, shift, stride, 0, 0.75);
  const out = exact(clamped(x, weight, bias));
  const inside = out.gt(0).mul(out.lt(0.75)).to({ dtype: "float64" });
  const composed = (...[map, kernel, shift]: Tensor[]): Tensor =>
    conv2d(map, kernel, null, stride, 1, 1, channels)
      .add(shift.view(1, -1, 1, 1))
      .mul(inside);
  const got = run(clamped, [x, weight, bias], [direction, ofWeight]);
  const expected = run(composed, [x, weight, bias].map(exact), [direction, ofWeight].map(exact));
  return ["map", "weight", "bias"].map((what, i) => [`second derivative of the ${what}`, got[i], expected[i]]);
}

/** Compares outputs and gradients of an operator with those of the composition in float64 on the CPU. */
function comparedWith(
  names: readonly string[],
  inputs: readonly Tensor[],
  gradients: readonly Tensor[],
  operator: (inputs: readonly Tensor[]) => readonly Tensor[],
  composition: (inputs: readonly Tensor[]) => readonly Tensor[],
): Pairs {
  const run = (values: readonly Tensor[], compute: typeof operator, convert: (g: Tensor) => Tensor): Tensor[] => {
    for (const each of values) each.requiresGrad_();
    const outputs = compute(values);
    const products = outputs.map((each, i) => each.mul(convert(gradients[i])).to({ dtype: "float64" }).sum());
    return [
      ...outputs,
      ...grad(
        products.reduce((a, b) => a.add(b)),
        values,
      ),
    ];
  };
  const got = run(inputs, operator, (g) => g);
  const expected = run(inputs.map(exact), composition, exact);
  return got.map((each, i) => [names[i], each, expected[i].detach()]);
}

function layerNormPairs(device: string): Pairs {
  const [x, h] = ["x", "h"].map((name) => drawn(name, [40, 7, 768], device));
  const [branch, g] = ["branch", "g"].map((name) => drawn(name, [40, 7, 768], device, true));
  const [weight, bias] = ["weight", "bias"].map((name) => drawn(name, [768], device));
  return comparedWith(
    ["output", "sum", "gradient of x", "gradient of the residual", "gradient of the weight", "gradient of the bias"],
    [x, branch, weight, bias],
    [g, h],
    ([a, b, w, c]) => fusedLayerNorm(a, b, w, c, 1e-6, device !== "cpu"),
    ([a, b, w, c]) => [layerNorm(a.add(b), [768], w, c, 1e-6, true), a.add(b)],
  );
}

function channelMeanPairs(device: string): Pairs {
  const [x, h] = ["x", "h"].map((name) => drawn(name, [3, 40, 9, 7], device, true));
  return comparedWith(
    ["mean", "map", "gradient of the map"],
    [x],
    [drawn("g", [3, 40], device), h],
    ([map]) => channelMean(map),
    ([map]) => [map.meanOver([2, 3]), map],
  );
}

function channelScalePairs(device: string): Pairs {
  const [x, g] = ["x", "g"].map((name) => drawn(name, [3, 264, 19, 17], device, true));
  return comparedWith(
    ["output", "gradient of the map", "gradient of the factors"],
    [x, drawn("factors", [3, 264], device, true)],
    [g],
    ([map, factors]) => [channelScale(map, factors)],
    ([map, factors]) => [map.mul(factors.view(3, 264, 1, 1))],
  );
}

function scaleAddPairs(device: string): Pairs {
  const shape = [6, 50, 192];
  const keep = tensor(Float32Array.from([0, 1.25, 1.25, 0, 1.25, 1.25])).to({ device });
  return comparedWith(
    ["output", "gradient of x", "gradient of the branch", "gradient of gamma"],
    [drawn("x", shape, device), drawn("branch", shape, device, true), drawn("gamma", [192], device)],
    [drawn("g", shape, device)],
    ([x, branch, gamma]) => [scaleAdd(x, branch, gamma, keep)],
    ([x, branch, gamma]) => [
      branch
        .mul(gamma)
        .mul(exact(keep).view(6, 1, 1))
        .add(x),
    ],
  );
}

/** Four groups of 112 channels, as in RegNetY-16GF. */
function groupedConvPairs(device: string, widest: number, stride: number): Pairs {
  const [groups, channels] = [4, 448];
  return comparedWith(
    ["output", "gradient of the map", "gradient of the weight"],
    [drawn("x", [2, channels, 8, 6], device, true), drawn("kernel", [channels, channels / groups, 3, 3], device, true)],
    [drawn("g", [2, channels, 8 / stride, 6 / stride], device, true)],
    ([x, weight]) => [groupedConv(x, weight, stride, 1, groups, widest)],
    ([x, weight]) => [conv2d(x, weight, null, stride, 1, 1, groups)],
  );
}

/** More layers than one launch folds. */
function foldNormsPairs(device: string): Pairs {
  const layers = Array.from({ length: 43 }, (_, i) => {
    const channels = 8 + i;
    const weight = drawn(`weight${i}`, [channels, 16, 3, 3], device).requiresGrad_();
    const [gamma, beta, mean, root] = ["gamma", "beta", "mean", "v"].map((name) => drawn(name + i, [channels], device));
    return [weight, gamma.requiresGrad_(), beta.requiresGrad_(), mean, root.square().add(0.5)];
  });
  const [weights, gammas, betas, means, variances] = [0, 1, 2, 3, 4].map((k) => layers.map((layer) => layer[k]));
  const all = [weights, gammas, betas, means, variances].flat();
  const half = device !== "cpu";
  const together = foldNorms(all, Array<number>(layers.length).fill(1e-5), half);
  const apart = layers.map(([w, g, b, m, v]) => foldNorm(w, g, b, m, v, 1e-5, half));
  const results = [...apart.map(([folded]) => folded), ...apart.map(([, shift]) => shift)];
  const gradientsOf = (made: readonly Tensor[]): Tensor[] =>
    grad(
      made.map((each) => each.to({ dtype: "float32" }).square().sum()).reduce((a, b) => a.add(b)),
      [...weights, ...gammas, ...betas],
    );
  const [got, expected] = [together, results].map((made) => [...made, ...gradientsOf(made)]);
  return got.map((each, i) => [i < results.length ? `result ${i}` : `gradient ${i}`, each, exact(expected[i])]);
}

const geluOfLinear = (x: Tensor, weight: Tensor, bias: Tensor): Tensor => linear(x, weight, bias).gelu();

function linearPairs(device: string, operator: typeof fusedLinear, composition: typeof geluOfLinear): Pairs {
  return comparedWith(
    ["output", "gradient of x", "gradient of the weight", "gradient of the bias"],
    [
      drawn("x", [5, 197, 64], device, true),
      drawn("weight", [2304, 64], device, true),
      drawn("bias", [2304], device, true),
    ],
    [drawn("g", [5, 197, 2304], device, true)],
    ([x, weight, bias]) => [operator(x, weight, bias)],
    ([x, weight, bias]) => [composition(x, weight, bias)],
  );
}

function maxPoolPairs(device: string): Pairs {
  return comparedWith(
    ["output", "gradient of the map"],
    [drawn("x", [3, 64, 15, 18], device, true)],
    [drawn("g", [3, 64, 8, 9], device, true)],
    ([x]) => [fusedMaxPool(x)],
    ([x]) => [x.maxPool2d(3, 2, 1)],
  );
}

function wideDepthwisePairs(device: string, size: number): Pairs {
  const channels = 96;
  return comparedWith(
    ["output", "gradient of the map", "gradient of the weight", "gradient of the bias"],
    [
      drawn("x", [3, channels, 16, 15], device, true),
      drawn("kernel", [channels, 1, size, size], device, true),
      drawn("bias", [channels], device),
    ],
    [drawn("g", [3, channels, 16, 15], device, true)],
    ([x, weight, bias]) => [wideDepthwise(x, weight, bias)],
    ([x, weight, bias]) => [conv2d(x, weight, bias, 1, (size - 1) / 2, 1, channels)],
  );
}

/**
 * Crops, resizes and flips pictures of several sizes and changes their colours. The pixels must be byte for byte those
 * of the host.
 */
function sameBytes(device: string): CheckResult {
  return scope(() => {
    const random = new Random(0, ["self-test", "pictures"]).host();
    const shapes = Array.from({ length: 12 }, () => [20 + random.integer(60), 20 + random.integer(60)]);
    const lengths = shapes.map(([width, height]) => width * height * 3);
    const offsets = Float64Array.from(lengths, (_, i) => lengths.slice(0, i).reduce((sum, each) => sum + each, 0));
    const total = lengths.reduce((sum, each) => sum + each, 0);
    const source = tensor(Uint8Array.from({ length: total }, () => random.integer(256)));
    const draws = new Float32Array(shapes.length * drawLength);
    for (const [i, [width, height]] of shapes.entries())
      drawAugmentation(random, width, height, draws.subarray(i * drawLength, (i + 1) * drawLength));
    const block: PixelBlock = { source, offsets, sizes: Int32Array.from(shapes.flat()) };
    const centres = new Float32Array(draws.length);
    for (const [i, [width, height]] of shapes.entries())
      centreCropDraw({ width, height }, { shortSide: 36, size: 32 }, centres.subarray(i * drawLength));
    const off = Math.max(
      ...(["bilinear", "bicubic"] as const).flatMap((interpolation) =>
        [draws, centres].map((each) => {
          const options = { size: 32, channelsLast: true, interpolation };
          const expected = augmentOnHost(block, each, options);
          const got = augmentOnDevice({ ...block, source: source.to({ device }) }, each, options);
          return got.to({ device: "cpu" }).sub(expected).abs().max().item();
        }),
      ),
    );
    // After normalization, one step of a byte is 0.017.
    return { ok: off < 1e-3, detail: `normalised pixels at most ${off.toExponential(1)} off those of the host` };
  });
}
