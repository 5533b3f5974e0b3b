/**
 * NUDGE as a library, its stations in the order the data flows: engine, layers, data, backbones, algorithms, regularizers,
 * optimizers, training, analysis; then the paper's toy task and theory, and drawing.
 */

// Engine

export type { Nested, TypedArray } from "./engine/arrays.js";
export { CudaGraph } from "./engine/cuda-graph.js";
export * from "./engine/device.js";
export { DTYPES, type DType } from "./engine/dtype.js";
export { call, callPrivate, schemas } from "./engine/operator.js";
export * as ops from "./engine/ops.generated.js";
export { keyedRandom, Philox } from "./engine/philox.js";
export { Generator, Random, withRandom } from "./engine/random.js";
export { keep, Scope, scope } from "./engine/scope.js";
export { grad, noGrad, Tensor, tensor } from "./engine/tensor.js";
export { readWeights, writeWeights } from "./engine/weights.js";
export { DataError, EngineError, UsageError } from "./errors.js";

// Layers

export * from "./nn/index.js";

// Data

export { augmentOnHost } from "./data/augment.js";
export { buildCache } from "./data/cache.js";
export type { Dataset, Domain } from "./data/dataset.js";
export { defineDataset } from "./data/dataset.js";
export { datasets } from "./data/datasets/index.js";
export { SHAPES_CLASSES, SHAPES_DOMAINS, shapesDataset } from "./data/datasets/shapes.js";
export { Loader } from "./data/loader.js";
export { openDataset } from "./data/open-dataset.js";
export { openPictures } from "./data/picture-store.js";
export { splitDataset, splitHash } from "./data/split.js";

// Backbones, algorithms, regularizers, optimizers, training

export { type AlgorithmDefinition, defineAlgorithm } from "./algorithms/algorithm.js";
export { algorithmNamed, algorithms } from "./algorithms/index.js";
export * from "./backbones/index.js";
export {
  choice,
  type Hparam,
  hparam,
  powerOfTen,
  powerOfTenInteger,
  powerOfTwoInteger,
  uniform,
  uniformInteger,
  variant,
} from "./hparams.js";
export * from "./optim/index.js";
export { type Kind, kinds, type Option, option } from "./options.js";
export * from "./regularizers/index.js";
export { Learner, type LearnerOptions } from "./training/learner.js";

// Sweeps

export * from "./sweep/launchers/index.js";

// Models in use

export * from "./export/index.js";
export * from "./model/index.js";

// Analysis

export * from "./analysis/abstention.js";
export * from "./analysis/assess.js";
export * from "./analysis/assessment.js";
export * from "./analysis/calibration.js";
export * from "./analysis/evaluation.js";
export * from "./analysis/feature-rank.js";
export * from "./analysis/judged.js";
export * from "./analysis/principal-directions.js";
export * from "./analysis/rank.js";

// The paper's toy task and theory, and drawing

export { lineChart, panels, scatterChart } from "./drawing/plot.js";
export { writeFigure } from "./drawing/write-figure.js";
export * as synthetic from "./paper/synthetic/index.js";
export * as theory from "./paper/theory/index.js";
