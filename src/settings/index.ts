/** Settings: from what was asked for to a run that is settled in full, and the names of runs and methods. */

export { drawHparam, drawHparams, type HparamValuesOf } from "./hparam-draws.js";
export { type GivenKeys, keys, type Request } from "./keys.js";
export { SettingsMemo } from "./memo.js";
export type { Method } from "./method.js";
export { datasetTitle, methodTitle, paperName } from "./names.js";
export { protocols } from "./protocols.js";
export { readConfig, readPairs } from "./read-request.js";
export { type Plan, resolve } from "./resolve.js";
export { runName, type TrainSettings, trainDomainsOf } from "./settings.js";
