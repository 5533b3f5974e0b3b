/** The backbones as ONNX nodes, each as its `forward` runs in evaluation (dropout does nothing there). */

import {
  type Backbone,
  DiagonalMap,
  LinearMap,
  Mlp,
  MnistCnn,
  MobileNetV2,
  ResNet,
  SmallCnn,
  ToyCnn,
  WideResNet,
} from "../backbones/index.js";
import { UsageError } from "../errors.js";
import { BatchNorm2d, Conv2d, ConvNorm, type Layer, type Linear, type Sequential } from "../nn/index.js";
import { ProbedBackbone } from "../probe/probed-backbone.js";
import type { OnnxGraph, Value } from "./onnx-graph.js";
import {
  batchNorm,
  convolution,
  flatten,
  globalAverage,
  groupNorm,
  linear,
  maxPool,
  relu,
  relu6,
} from "./onnx-layers.js";

/** The features of `x`. */
export function backboneNodes(graph: OnnxGraph, x: Value, backbone: Backbone): Value {
  if (backbone instanceof ProbedBackbone) return linear(graph, backboneNodes(graph, x, backbone.body), backbone.map);
  if (backbone instanceof ResNet) return resnet(graph, x, backbone);
  if (backbone instanceof MobileNetV2) return mobileNet(graph, x, backbone);
  if (backbone instanceof WideResNet) return wideResNet(graph, x, backbone);
  if (backbone instanceof SmallCnn) return smallCnn(graph, x, backbone);
  if (backbone instanceof ToyCnn) return toyCnn(graph, x, backbone);
  if (backbone instanceof MnistCnn) return mnistCnn(graph, x, backbone);
  if (backbone instanceof Mlp) return mlp(graph, x, backbone);
  if (backbone instanceof LinearMap) return linear(graph, flatten(graph, x), backbone.map);
  if (backbone instanceof DiagonalMap) return graph.node("Mul", [flatten(graph, x), graph.weights(backbone.weight)]);
  throw new UsageError(
    `export to ONNX: the backbone ${backbone.constructor.name} is none of those that can be written; take --format safetensors`,
  );
}

/** What a block of a ResNet has; the third pair in the larger ones. */
interface ResidualBlock {
  readonly conv1: Conv2d;
  readonly bn1: BatchNorm2d;
  readonly conv2: Conv2d;
  readonly bn2: BatchNorm2d;
  readonly conv3?: Conv2d;
  readonly bn3?: BatchNorm2d;
  readonly downsample: ConvNorm | null;
}

function resnet(graph: OnnxGraph, x: Value, { conv1, bn1, layer1, layer2, layer3, layer4 }: ResNet): Value {
  const stem = maxPool(graph, relu(graph, convolution(graph, x, conv1, bn1)), 3, 2, 1);
  const blocks = [layer1, layer2, layer3, layer4].flatMap(({ layers }) => layers as readonly Layer[]);
  const last = blocks.reduce((value, each) => {
    const block = each as Layer & ResidualBlock;
    let inner = relu(graph, convolution(graph, value, block.conv1, block.bn1));
    inner = convolution(graph, inner, block.conv2, block.bn2);
    if (block.conv3) inner = convolution(graph, relu(graph, inner), block.conv3, block.bn3);
    const { downsample } = block;
    const around = downsample ? convolution(graph, value, downsample.conv, downsample.norm) : value;
    return relu(graph, graph.node("Add", [inner, around]));
  }, stem);
  return globalAverage(graph, last);
}

function mobileNet(graph: OnnxGraph, x: Value, { features }: MobileNetV2): Value {
  const withRelu6 = (value: Value, { conv, norm }: ConvNorm): Value =>
    relu6(graph, convolution(graph, value, conv, norm));
  const last = features.layers.reduce((value, layer) => {
    if (layer instanceof ConvNorm) return withRelu6(value, layer);
    // A block: its convolutions with ReLU6, then one 1×1 down and its norm, and the way around where nothing changes size.
    const parts = (layer as Layer & { conv: Sequential }).conv.layers;
    const wide = parts.filter((part) => part instanceof ConvNorm);
    const project = parts.find((part) => part instanceof Conv2d)!;
    const norm = parts.find((part) => part instanceof BatchNorm2d)!;
    const narrow = convolution(graph, wide.reduce(withRelu6, value), project, norm);
    const same = wide[0].conv.inputs === project.outputs && wide.every(({ conv }) => conv.stride === 1);
    return same ? graph.node("Add", [narrow, value]) : narrow;
  }, x);
  return globalAverage(graph, last);
}

interface WideBlock {
  readonly bn1: BatchNorm2d;
  readonly conv1: Conv2d;
  readonly bn2: BatchNorm2d;
  readonly conv2: Conv2d;
  readonly shortcut: Sequential;
}

function wideResNet(graph: OnnxGraph, x: Value, { conv1, layer1, layer2, layer3, bn1 }: WideResNet): Value {
  const blocks = [layer1, layer2, layer3].flatMap(({ layers }) => layers as readonly Layer[]);
  const last = blocks.reduce(
    (value, each) => {
      const block = each as Layer & WideBlock;
      const inner = convolution(graph, relu(graph, batchNorm(graph, value, block.bn1)), block.conv1);
      const outer = convolution(graph, relu(graph, batchNorm(graph, inner, block.bn2)), block.conv2);
      const [shortcut] = block.shortcut.layers as readonly Conv2d[];
      return graph.node("Add", [outer, shortcut ? convolution(graph, value, shortcut) : value]);
    },
    convolution(graph, x, conv1),
  );
  return globalAverage(graph, relu(graph, batchNorm(graph, last, bn1)));
}

function smallCnn(graph: OnnxGraph, x: Value, { conv1, conv2, conv3, fc }: SmallCnn): Value {
  const maps = [conv1, conv2, conv3].reduce(
    (value, conv) => maxPool(graph, relu(graph, convolution(graph, value, conv)), 2, 2),
    x,
  );
  return relu(graph, linear(graph, flatten(graph, maps), fc));
}

function toyCnn(graph: OnnxGraph, x: Value, { stem, stage1, stage2, stage3 }: ToyCnn): Value {
  const last = [stem, stage1, stage2, stage3].reduce((value, conv) => relu(graph, convolution(graph, value, conv)), x);
  return globalAverage(graph, last);
}

function mnistCnn(graph: OnnxGraph, x: Value, { conv1, conv2, conv3, conv4, bn0, bn1, bn2, bn3 }: MnistCnn): Value {
  const pairs = [[conv1, bn0], [conv2, bn1], [conv3, bn2], [conv4, bn3]] as const; // biome-ignore format: pairs
  const last = pairs.reduce(
    (value, [conv, norm]) => groupNorm(graph, relu(graph, convolution(graph, value, conv)), norm),
    x,
  );
  return globalAverage(graph, last);
}

function mlp(graph: OnnxGraph, x: Value, { input, hiddens, output }: Mlp): Value {
  const layers = [input, ...(hiddens.layers as readonly Linear[])];
  const last = layers.reduce((value, layer) => relu(graph, linear(graph, value, layer)), flatten(graph, x));
  return linear(graph, last, output);
}
