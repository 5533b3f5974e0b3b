/**
 * A schedule as a setting of a run, `schedule=cosine warmupSteps=100`: what the learning rate is multiplied by at each update.
 * It is a function of the step's number alone, so a resumed run goes through the same rates. Plug-ins define theirs the same
 * way.
 */

import { declare } from "../definitions.js";
import { UsageError } from "../errors.js";
import type { Options, ValuesOf } from "../options.js";

export interface ScheduleDefinition<O extends Options = Options> {
  readonly id: string;
  readonly title: string;
  readonly paper?: string;
  readonly options: O;
  /** The factor at update `step` of `steps`, counted from 0 after the warm-up. */
  factor(step: number, steps: number, options: ValuesOf<O>): number;
  /** Refuses options that make no sense in a run of so many updates after the warm-up. */
  check?(steps: number, options: ValuesOf<O>): void;
}

/** Declares a schedule, its options typed. */
export function defineSchedule<const O extends Options>(definition: ScheduleDefinition<O>): ScheduleDefinition<O> {
  return declare("schedule", definition);
}

/** The factor at every update of a run: linear up to 1 over the warm-up, then the schedule over the updates that are left. */
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
