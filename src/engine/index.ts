/** The engine: tensors, operators, gradients, random numbers, devices and weight files. */

export type { Nested, TypedArray } from "./arrays.js";
export { CudaGraph } from "./cuda-graph.js";
export * from "./device.js";
export { DTYPES, type DType } from "./dtype.js";
export { call, callPrivate, schemas } from "./operator.js";
export * as ops from "./ops.generated.js";
export { keyedRandom, Philox } from "./philox.js";
export { Random, RandomGenerator, withRandom } from "./random.js";
export { keep, Scope, scope } from "./scope.js";
export { grad, noGrad, Tensor, tensor } from "./tensor.js";
export { readWeights, writeWeights } from "./weights.js";
