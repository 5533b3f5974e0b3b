/** The schedules, by id: one file each and one line here. */

import { unknownName } from "../../closest-name.js";
import { UsageError } from "../../errors.js";
import type { ScheduleDefinition } from "../define-schedule.js";
import { constant } from "./constant.js";
import { cosine } from "./cosine.js";
import { oneCycle } from "./one-cycle.js";
import { step } from "./step.js";

/** Schedules by id. */
export const schedules: Readonly<Record<string, ScheduleDefinition>> = {
  constant,
  cosine,
  step,
  "one-cycle": oneCycle,
} as Record<string, ScheduleDefinition>;

/** A schedule by its id; an unknown one is an error that names the nearest. */
export function scheduleNamed(id: string): ScheduleDefinition {
  if (!Object.hasOwn(schedules, id)) throw new UsageError(unknownName("schedule", id, Object.keys(schedules)));
  return schedules[id];
}
