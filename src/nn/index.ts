/** Layers and losses. */

export { GELU, type GeluKind, Hardswish, LeakyReLU, ReLU, ReLU6, relu6_, SiLU } from "./activation.js";
export { hasFusedAttention, MultiHeadAttention } from "./attention.js";
export { AttentionPooling, type AttentionPoolingOptions } from "./attention-pooling.js";
export {
  BatchNorm,
  BatchNorm1d,
  BatchNorm2d,
  type BatchNormUse,
  convNorm,
  type Fold,
  useBatchNorm,
} from "./batch-norm.js";
export { Conv2d, type ConvOptions } from "./conv.js";
export { ConvNorm } from "./conv-norm.js";
export { Dropout } from "./dropout.js";
export { Embedding } from "./embedding.js";
export { GroupNorm } from "./group-norm.js";
export { LayerNorm } from "./layer-norm.js";
export { LayerScale } from "./layer-scale.js";
export { Linear } from "./linear.js";
export { Lora, type LoraOptions, mergedState } from "./lora.js";
export { binaryCrossEntropy, crossEntropy, mse, type Reduction } from "./loss.js";
export { Layer, type LoadOptions, Module, Parameter, type Place, Sequential, StateBuffer } from "./module.js";
export { nonlinearClassifier } from "./nonlinear-classifier.js";
export {
  AdaptiveAvgPool2d,
  AvgPool2d,
  GlobalAvgPool2d,
  globalAverage,
  MaxPool2d,
  type PoolOptions,
} from "./pooling.js";
export { type Grid, POSITION_RULES, type PositionRule, resizePositions } from "./position-embedding.js";
export { type Precision, toComputePrecision, toFullPrecision, withPrecision } from "./precision.js";
export { ProbeAndNeighbours, storedNeighbours } from "./probe-and-neighbours.js";
export { withSecondDerivatives } from "./second-derivatives.js";
export { SqueezeExcitation } from "./squeeze-excitation.js";
export { StochasticDepth, stochasticDepthRates } from "./stochastic-depth.js";
export { type BlockOptions, FeedForward, TransformerBlock } from "./transformer-block.js";
