/** Sweeps: planning, executing and reporting many runs. */

export { existingRuns, type Growth, growPlan, growthOf, type PlanWords } from "./grow-plan.js";
export { type Launched, type LaunchOptions, launch } from "./launch.js";
export { type MadePlan, makePlan, type SweepAsked } from "./make-plan.js";
export { type PlanOptions, planRuns } from "./plan-runs.js";
export { type Preset, partInWords, presetNamed, presets } from "./presets.js";
export { RUN_STATES, type RunState } from "./run-state.js";
export {
  isSweepFolder,
  type PlannedRun,
  planLines,
  type RunRequest,
  readPlan,
  readSweepFile,
  type SweepFile,
  sweepPaths,
  uncountedPlan,
  writePlan,
} from "./sweep-folder.js";
export { type GivenPart, partsOf, readPart, type SweepPart } from "./sweep-request.js";
