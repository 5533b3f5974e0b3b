/** The settings of a run that concern the optimization: optimizer, schedule and others that differ from the defaults. */

import { type OptimizerDefinition, rateFactor, type ScheduleDefinition, scheduleNamed } from "../optim/index.js";
import { readOptions } from "../options.js";
import type { PluginSettings } from "../records/run.js";
import type { FilledKeys } from "./keys.js";
import type { Method } from "./method.js";
import type { RunValues } from "./values-of-run.js";

/** The settings of the optimization that differ from the defaults; empty if none do. */
export function optimizationSettings(
  { warmupSteps = 0, clipNorm, headLr = 1, patience }: FilledKeys,
  { optimizer, schedule }: Method,
  values: RunValues,
  steps: number,
) {
  const settled = <D extends OptimizerDefinition | ScheduleDefinition>(kind: string, definition: D | undefined) => {
    if (!definition) return undefined;
    const { id, options } = definition;
    const settings = readOptions(`${kind} ${id}`, options, values.of(definition), { prefix: `${id}.` });
    return { id, settings: settings as PluginSettings["settings"] };
  };
  const [ownOptimizer, ownSchedule] = [settled("optimizer", optimizer), settled("schedule", schedule)];
  if (schedule || warmupSteps > 0)
    rateFactor(schedule ?? scheduleNamed("constant"), { steps, warmupSteps, options: ownSchedule?.settings ?? {} });
  return {
    ...(ownOptimizer && { optimizer: ownOptimizer }),
    ...(ownSchedule && { schedule: ownSchedule }),
    ...(warmupSteps > 0 && { warmupSteps }),
    ...(clipNorm !== undefined && { clipNorm }),
    ...(headLr !== 1 && { headLr }),
    ...(patience !== undefined && { patience }),
  };
}
