/** Section 3.1 of the paper as code: the 2-D task, its model, gradient descent, and the results. */

export * from "../../data/toy-task.js";
export * from "./accuracy.js";
export * from "./experiment.js";
export * from "./figures.js";
export * from "./grid.js";
export * from "./landmarks.js";
export {
  type InitName,
  initialModel,
  initNames,
  type LossName,
  lossNames,
  type MapName,
  type Model,
  mapNames,
  type Predictor,
  predictorOf,
} from "./model.js";
export { evaluateObjective, type Objective, prepare, type TrainingSet } from "./objective.js";
export { type PenaltyName, penaltyNames } from "./penalty.js";
export * from "./separating-lines.js";
export * from "./train.js";
