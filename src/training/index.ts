/**
 * Training: the parts of the training loop, and run folders. The package itself exports `train`, which does it in one
 * call.
 */

export { assessRun } from "./assess-run.js";
export { type EvaluateOptions, evaluate as evaluateParts, validationMean } from "./evaluate.js";
export { findRate, type RatePoint, type RateTest, type RateTestOptions } from "./find-rate.js";
export { Learner, type LearnerOptions, type LearnerState, type Scalars } from "./learner.js";
export { makeLearner } from "./make-learner.js";
export type { Optimization } from "./optimization.js";
export { quietReporter, type Reporter, type Status, streamReporter } from "./reporter.js";
export { RunFolder, readTrainSettings } from "./run-folder.js";
export { loaderOptions, openSamples, type Samples } from "./samples.js";
export { type StartedRun, startRun } from "./start-run.js";
export { type EndedRun, type TrainOptions, type TrainOutcome, train as trainInFolder } from "./train.js";
export { Updates, type UpdatesOptions } from "./updates.js";
