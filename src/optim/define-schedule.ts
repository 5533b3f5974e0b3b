/**
 * A learning rate schedule as a setting of a run, such as `schedule=cosine warmupSteps=100`. It returns the factor of
 * the learning rate at each update. The factor depends only on the step and, if the schedule follows validation, on the
 * losses of earlier evaluations, which checkpoints contain. So a resumed run uses the same learning rates. Plug-ins
 * define schedules in the same way.
 */

import { declare } from "../definitions.js";
import { UsageError } from "../errors.js";
import type { Options, ValuesOf } from "../options.js";

/** The mean loss on the validation pictures of the training domains after a step. */
export interface ValidationLoss {
  readonly step: number;
  readonly loss: number;
}

export interface ScheduleDefinition<O extends Options = Options> {
  readonly id: string;
  readonly title: string;
  readonly paper?: string;
  readonly options: O;
  /**
   * Returns the factor at update `step` of `steps`. Steps count from the end of the warm-up, also those of `losses`, the
   * evaluations so far.
   */
  factor(step: number, steps: number, options: ValuesOf<O>, losses: readonly ValidationLoss[]): number;
  /** For a schedule that follows validation: what it decides after these evaluations. */
  follow?(losses: readonly ValidationLoss[], options: ValuesOf<O>): FollowedSchedule;
  /** Throws an error if the options make no sense for this number of updates after the warm-up. */
  check?(steps: number, options: ValuesOf<O>): void;
}

/** What a schedule that follows validation has decided so far. */
export interface FollowedSchedule {
  /** Whether the run ends now. */
  readonly isOver: boolean;
  /** The last update of a run with the same rates that is not evaluated; undefined for as many as this run may have. */
  readonly last?: number;
  /** The options of such a run. */
  readonly repeated: Readonly<Record<string, string | number | boolean>>;
}

/** Declares a schedule with typed options. */
export function defineSchedule<const O extends Options>(definition: ScheduleDefinition<O>): ScheduleDefinition<O> {
  return declare("schedule", definition);
}

export interface RateOptions {
  readonly steps: number;
  readonly warmupSteps: number;
  readonly options: ValuesOf<Options>;
  /** The evaluations so far, to which the run adds. */
  readonly losses?: readonly ValidationLoss[];
}

/** The evaluations with steps that count from the end of the warm-up. */
export const afterWarmup = (losses: readonly ValidationLoss[], warmupSteps: number): readonly ValidationLoss[] =>
  warmupSteps === 0 ? losses : losses.map(({ step, loss }) => ({ step: step - warmupSteps, loss }));

/**
 * Returns the factor as a function of the update: a linear increase to 1 during the warm-up, then the schedule over the
 * remaining updates.
 */
export function rateFactor(
  { id, factor, check }: ScheduleDefinition,
  { steps, warmupSteps, options, losses = [] }: RateOptions,
): (step: number) => number {
  if (warmupSteps >= steps)
    throw new UsageError(
      `warmupSteps ${warmupSteps}: the run has ${steps} steps; expected fewer steps of warm-up than that`,
    );
  const left = steps - warmupSteps;
  check?.(left, options);
  return (step) => {
    if (step < warmupSteps) return (step + 1) / warmupSteps;
    const value = factor(Math.min(step, steps - 1) - warmupSteps, left, options, afterWarmup(losses, warmupSteps));
    if (!(value >= 0 && Number.isFinite(value)))
      throw new UsageError(`schedule ${id}: expected a factor from 0 at step ${step}, got ${value}`);
    return value;
  };
}
