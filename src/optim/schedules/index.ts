/** All learning rate schedules by id. To add one, add a file and a line here. */

import { unknownName } from "../../closest-name.js";
import { UsageError } from "../../errors.js";
import type { ScheduleDefinition } from "../define-schedule.js";
import { constant } from "./constant.js";
import { cosine } from "./cosine.js";
import { oneCycle } from "./one-cycle.js";
import { plateau } from "./plateau.js";
import { step } from "./step.js";

/** Schedules by id. */
export const schedules: Readonly<Record<string, ScheduleDefinition>> = {
  constant,
  cosine,
  step,
  "one-cycle": oneCycle,
  plateau,
} as Record<string, ScheduleDefinition>;

/** Returns the schedule with this id. For an unknown id, the error suggests the closest one. */
export function scheduleNamed(id: string): ScheduleDefinition {
  if (!Object.hasOwn(schedules, id)) throw new UsageError(unknownName("schedule", id, Object.keys(schedules)));
  return schedules[id];
}
