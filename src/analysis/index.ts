/** Analysis: measures of a model on labelled pictures, of two models on the same pictures, and of features. */

export * from "./abstention.js";
export * from "./assess.js";
export * from "./assessment.js";
export * from "./calibration.js";
export * from "./evaluation.js";
export * from "./feature-rank.js";
export * from "./judged.js";
export * from "./paired-models.js";
export * from "./principal-directions.js";
export * from "./rank.js";
