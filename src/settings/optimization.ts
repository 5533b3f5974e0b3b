/** The settings of a run that concern the optimization: optimizer, schedule and others that differ from the defaults. */

import { type FilledKeys, keys } from "../declared-settings/keys.js";
import { storedOf } from "../declared-settings/stored.js";
import { type OptimizerDefinition, rateFactor, type ScheduleDefinition, scheduleNamed } from "../optim/index.js";
import { readOptions } from "../options.js";
import type { PluginSettings } from "../records/run.js";
import type { Method } from "./method.js";
import type { RunValues } from "./values-of-run.js";

/** The settings of the optimization that differ from the defaults; empty if none do. */
export function optimizationSettings(
  given: FilledKeys,
  { optimizer, schedule }: Method,
  values: RunValues,
  steps: number,
) {
  const { warmupSteps } = given;
  const settled = <D extends OptimizerDefinition | ScheduleDefinition>(kind: string, definition: D | undefined) => {
    if (!definition) return undefined;
    const { id, options } = definition;
    const settings = readOptions(`${kind} ${id}`, options, values.of(definition), { prefix: `${id}.` });
    return { id, settings: settings as PluginSettings["settings"] };
  };
  const [ownOptimizer, ownSchedule] = [settled("optimizer", optimizer), settled("schedule", schedule)];
  if (schedule || warmupSteps > 0)
    rateFactor(schedule ?? scheduleNamed(keys.schedule.default), {
      steps,
      warmupSteps,
      options: ownSchedule?.settings ?? {},
    });
  return {
    ...(ownOptimizer && { optimizer: ownOptimizer }),
    ...(ownSchedule && { schedule: ownSchedule }),
    ...storedOf(given, "warmupSteps", "clipNorm", "headLr", "patience"),
  };
}
