/** The schedule of a run that follows its validation loss: which evaluations it reads, and what it decides. */

import { afterWarmup, type FollowedSchedule, scheduleNamed, type ValidationLoss } from "../optim/index.js";
import type { TrainSettings } from "../settings/settings.js";

/** Returns what the schedule has decided after these evaluations; undefined if it does not follow validation. */
export function followedSchedule(
  { schedule, warmupSteps = 0 }: Pick<TrainSettings, "schedule" | "warmupSteps">,
  losses: readonly ValidationLoss[],
): FollowedSchedule | undefined {
  if (!schedule) return undefined;
  const followed = scheduleNamed(schedule.id).follow?.(afterWarmup(losses, warmupSteps), schedule.settings as never);
  return followed?.last === undefined ? followed : { ...followed, last: followed.last + warmupSteps };
}
