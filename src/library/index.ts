/** Training and evaluation in one call each. */

export { type EvaluateOptions, evaluate, type ModelEvaluation } from "./evaluate.js";
export { register } from "./register.js";
export { planRun, type RunRequest, type TrainedRun, type TrainOptions, train } from "./train.js";
