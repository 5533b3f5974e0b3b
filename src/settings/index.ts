/** Settings: from a request to a completely specified run, and the names of runs and methods. */

export { type GivenKeys, keys, type Request } from "../declared-settings/keys.js";
export { drawHparam, drawHparams, type HparamValuesOf } from "./hparam-draws.js";
export { SettingsMemo } from "./memo.js";
export type { Method } from "./method.js";
export { datasetTitle, methodTitle, paperName } from "./names.js";
export { protocols } from "./protocols.js";
export { readConfig, readPairs } from "./read-request.js";
export { type Plan, resolve } from "./resolve.js";
export { runName, type TrainSettings, trainDomainsOf } from "./settings.js";
