/**
 * How long a run trains again on all pictures of its training domains: for the number of steps that validation chose. By
 * default that is the step of the best validation accuracy. A schedule that follows the validation loss decides by itself
 * where the run ends and at which rates; DomainBed's loop for ERM++ does this.
 */

import { existsSync } from "node:fs";
import { join } from "node:path";
import * as v from "valibot";
import { readText } from "../files/open-file.js";
import { parseStored, type Schema, wholeSchema } from "../files/stored-json.js";
import type { ValidationLoss } from "../optim/index.js";
import { DONE_FILE } from "../records/run.js";
import type { TrainSettings } from "../settings/settings.js";
import { followedSchedule } from "./followed-schedule.js";

/** Written when validation has chosen the length of a run that then trains again. */
export const VALIDATED_FILE = "validated.json";

/** What is known of a run whose first training is over. */
export interface Validated {
  /** The last step. */
  readonly step: number;
  readonly best: { readonly step: number; readonly accuracy: number } | null;
  readonly losses?: readonly ValidationLoss[];
}

const validatedSchema: Schema<Validated> = v.looseObject({
  step: wholeSchema,
  best: v.nullable(v.object({ step: wholeSchema, accuracy: v.number("a number") }, "a step and its accuracy")),
  losses: v.optional(
    v.array(v.object({ step: wholeSchema, loss: v.number("a number") }, "a step and its loss"), "a list"),
  ),
});

/** Reads how the first training of a run ended, also if the run is done; undefined if it has not. */
export function readValidated(run: string): Validated | undefined {
  const path = [VALIDATED_FILE, DONE_FILE].map((name) => join(run, name)).find((each) => existsSync(each));
  return path === undefined
    ? undefined
    : parseStored(validatedSchema, readText(path), { path, what: "the end of the run" });
}

export interface RetrainLength {
  /** The last step, which validation chose. */
  readonly last: number;
  /** The options of the schedule, which repeats the rates of the first training. */
  readonly schedule: Readonly<Record<string, string | number | boolean>>;
}

/** Returns how a run trains again; undefined if it has no evaluation. */
export function retrainLength(
  settings: Pick<TrainSettings, "schedule" | "warmupSteps">,
  { step, best, losses }: Validated,
): RetrainLength | undefined {
  const followed = losses && followedSchedule(settings, losses);
  if (followed) return { last: followed.last ?? step, schedule: followed.repeated };
  return best === null ? undefined : { last: best.step, schedule: {} };
}
