/** Records: the measurements of runs, on disk and in memory, of this project and others. */

export { type ReadResultsFile, readDomainBed, toDomainBed, type WriteOptions } from "./domainbed.js";
export {
  type DomainAccuracy,
  type EvaluatedRun,
  type Method,
  methodKey,
  type StepEvaluation,
} from "./evaluated-run.js";
export { isOwnDataset, withoutSlash } from "./own-pictures.js";
export { ACCURACY, CURRENT, type RunRecord } from "./record.js";
export {
  evaluatedRuns,
  methodOf,
  type RunSettings,
  readRun,
  readSettings,
  type SettingScalar,
  type StoredRun,
} from "./run.js";
export { type Cut, cutRecords, RecordStore, readRecords } from "./store.js";
export { readSwad } from "./swad.js";
