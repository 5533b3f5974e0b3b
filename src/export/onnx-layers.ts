/** Layers as ONNX nodes, in evaluation: batch norms with fixed statistics become part of the convolution before them. */

import { BatchNorm, Conv2d, type GroupNorm, type Layer, Linear, ReLU, Sequential } from "../nn/index.js";
import type { OnnxGraph, Value } from "./onnx-graph.js";

/** A convolution, and the batch norm after it where there is one. */
export function convolution(graph: OnnxGraph, x: Value, conv: Conv2d, norm?: BatchNorm): Value {
  const { weight, bias, stride, padding, groups } = conv;
  const size = weight.shape[2];
  const attributes = {
    kernel_shape: [size, size],
    strides: [stride, stride],
    pads: [padding, padding, padding, padding],
    group: groups,
  };
  if (!norm) return graph.node("Conv", [x, graph.weights(weight), ...(bias ? [graph.weights(bias)] : [])], attributes);
  const folded = graph.weights(weight, () => weight.mul(norm.affine().scale.view(-1, 1, 1, 1)));
  const shift = graph.weights(norm.bias, () => {
    const { scale, shift: own } = norm.affine();
    return bias ? own.add(bias.mul(scale)) : own;
  });
  return graph.node("Conv", [x, folded, shift], attributes);
}

/** A batch norm that no convolution stands before: a factor and a term for each channel. */
export function batchNorm(graph: OnnxGraph, x: Value, norm: BatchNorm): Value {
  const factor = graph.weights(norm.weight, () => norm.affine().scale.view(1, -1, 1, 1));
  const term = graph.weights(norm.bias, () => norm.affine().shift.view(1, -1, 1, 1));
  return graph.node("Add", [graph.node("Mul", [x, factor]), term]);
}

/** Group norm as an instance norm of the groups, which every version of every runtime has, then weight and bias. */
export function groupNorm(graph: OnnxGraph, x: Value, { groups, weight, bias, eps }: GroupNorm): Value {
  const apart = graph.node("Reshape", [x, graph.sizes([0, groups, -1])]);
  const [one, zero] = [1, 0].map((value) => graph.numbers(new Array<number>(groups).fill(value)));
  const normed = graph.node("InstanceNormalization", [apart, one, zero], { epsilon: { float: eps } });
  const together = graph.node("Reshape", [normed, graph.node("Shape", [x])]);
  const factor = graph.weights(weight, () => weight.view(1, -1, 1, 1));
  return graph.node("Add", [graph.node("Mul", [together, factor]), graph.weights(bias, () => bias.view(1, -1, 1, 1))]);
}

/** y = x·Wᵀ + b. */
export function linear(graph: OnnxGraph, x: Value, { weight, bias }: Linear): Value {
  return graph.node("Gemm", [x, graph.weights(weight), ...(bias ? [graph.weights(bias)] : [])], { transB: 1 });
}

export const relu = (graph: OnnxGraph, x: Value): Value => graph.node("Relu", [x]);

export const relu6 = (graph: OnnxGraph, x: Value): Value =>
  graph.node("Clip", [x, graph.numbers([0], []), graph.numbers([6], [])]);

export const maxPool = (graph: OnnxGraph, x: Value, kernel: number, stride: number, padding = 0): Value =>
  graph.node("MaxPool", [x], {
    kernel_shape: [kernel, kernel],
    strides: [stride, stride],
    pads: [padding, padding, padding, padding],
  });

/** [n, c, h, w] → [n, c]. */
export const globalAverage = (graph: OnnxGraph, x: Value): Value =>
  graph.node("ReduceMean", [x, graph.sizes([2, 3])], { keepdims: 0 });

/** [n, …] → [n, numbers]. */
export const flatten = (graph: OnnxGraph, x: Value): Value => graph.node("Flatten", [x], { axis: 1 });

/** Layers one after the other, of the kinds that classifiers and ARM's context network are made of; undefined for another. */
export function sequential(graph: OnnxGraph, x: Value, layer: Layer): Value | undefined {
  if (layer instanceof Linear) return linear(graph, x, layer);
  if (!(layer instanceof Sequential)) return undefined;
  const { layers } = layer;
  let value = x;
  for (let i = 0; i < layers.length; i++) {
    const [own, next] = [layers[i], layers[i + 1]];
    if (own instanceof Conv2d) {
      const norm = next instanceof BatchNorm ? next : undefined;
      value = convolution(graph, value, own, norm);
      if (norm) i++;
    } else if (own instanceof Linear) value = linear(graph, value, own);
    else if (own instanceof ReLU) value = relu(graph, value);
    else return undefined;
  }
  return value;
}
