/** Trained models in use. */

export type { PictureInput } from "../data/sample-source.js";
export type { DistanceFacts, ModelAbout, PredictionPath, Preprocessing, StartingWeights } from "./about.js";
export { type DatasetChoice, type LabelledSample, ModelDataset, matchClasses } from "./dataset-batches.js";
export type { DomainDistance } from "./domain-distance.js";
export { type EmbeddedDataset, type EmbeddedPicture, embedDataset } from "./embed-dataset.js";
export { type JudgedDataset, judgeDataset } from "./judge-dataset.js";
export { type LoadModelOptions, loadModel, readModelAbout } from "./load-model.js";
export { type ClassProbability, Model, type PictureResult, type Prediction, type PredictOptions } from "./model.js";
