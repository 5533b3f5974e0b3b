/**
 * A learning rate schedule as a setting of a run, such as `schedule=cosine warmupSteps=100`. It returns the factor of
 * the learning rate at each update. The factor depends only on the step, so a resumed run uses the same learning rates.
 * Plug-ins define schedules in the same way.
 */

import { declare } from "../definitions.js";
import { UsageError } from "../errors.js";
import type { Options, ValuesOf } from "../options.js";

export interface ScheduleDefinition<O extends Options = Options> {
  readonly id: string;
  readonly title: string;
  readonly paper?: string;
  readonly options: O;
  /** Returns the factor at update `step` of `steps`. Both count from the end of the warm-up. */
  factor(step: number, steps: number, options: ValuesOf<O>): number;
  /** Throws an error if the options make no sense for this number of updates after the warm-up. */
  check?(steps: number, options: ValuesOf<O>): void;
}

/** Declares a schedule with typed options. */
export function defineSchedule<const O extends Options>(definition: ScheduleDefinition<O>): ScheduleDefinition<O> {
  return declare("schedule", definition);
}

/**
 * Returns the factor as a function of the update: a linear increase to 1 during the warm-up, then the schedule over the
 * remaining updates.
 */
export function rateFactor(
  { id, factor, check }: ScheduleDefinition,
  { steps, warmupSteps, options }: { steps: number; warmupSteps: number; options: ValuesOf<Options> },
): (step: number) => number {
  if (warmupSteps >= steps)
    throw new UsageError(
      `warmupSteps ${warmupSteps}: the run has ${steps} steps; expected fewer steps of warm-up than that`,
    );
  const left = steps - warmupSteps;
  check?.(left, options);
  return (step) => {
    if (step < warmupSteps) return (step + 1) / warmupSteps;
    const value = factor(Math.min(step, steps - 1) - warmupSteps, left, options);
    if (!(value >= 0 && Number.isFinite(value)))
      throw new UsageError(`schedule ${id}: expected a factor from 0 at step ${step}, got ${value}`);
    return value;
  };
}
