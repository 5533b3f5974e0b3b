/**
 * The interface of an averaging follower. A follower observes a run's parameters and computes an average of them
 * without changing the run. It works with any algorithm, and one training run gives the results of both the trained
 * model and the average.
 *
 *     follower.afterUpdate(step, parameters);                      // after every update
 *     if (follower.atEvaluation(step, loss) === "stop") break;     // after every evaluation of the trained model
 *     scope(() => model.loadStateDict(follower.weights(), …));     // the average, for evaluation or a file
 *
 * Followers average parameters but not buffers. If batch-norm statistics are trained, recompute them for the average.
 */

import { declare } from "../definitions.js";
import type { Tensor } from "../engine/tensor.js";
import { type OptionWithDefault, readOptions, type ValuesOf } from "../options.js";

/** Parameters by name, either of the run or of an average. */
export type NamedTensors = ReadonlyMap<string, Tensor>;

/** The state of a follower. It contains everything that is needed to resume bit for bit. */
export interface FollowerState {
  /** The follower's own tensors, not copies. Write or clone them before the next update. */
  readonly tensors: Map<string, Tensor>;
  /** Finite numbers that can be stored as JSON. */
  readonly numbers: Record<string, number>;
}

/** A summary of an average, for the log and for reports. */
export interface AverageSummary {
  /** The number of averaged items. An item that is averaged twice counts twice. */
  readonly count: number;
  /** What the items are: the weights after single steps (the default), or the means between two evaluations. */
  readonly of?: "steps" | "segments";
  /** The first and the last averaged step. */
  readonly from: number;
  readonly to: number;
}

export interface Follower extends Disposable {
  readonly id: string;
  /** Every setting, including defaults. A run records them. */
  readonly settings: Readonly<Record<string, number | string>>;
  /** Receives the initial parameters, before the first update. */
  begin?(parameters: NamedTensors): void;
  /** Receives the parameters after an update. */
  afterUpdate(step: number, parameters: NamedTensors): void;
  /**
   * Receives the trained model's validation loss (the mean over training domains of the mean cross-entropy on `out`).
   * Returns "stop" if further training cannot change the average.
   */
  atEvaluation(step: number, validationLoss: number): "continue" | "stop";
  /**
   * Candidates that are compared on validation pictures when training ends. `choose` then receives the best one. If it
   * is absent or empty, there is no comparison.
   */
  readonly candidates?: readonly number[];
  choose?(candidate: number): void;
  /** Returns the average as if training ended now, as new tensors in the current scope. */
  weights(): Map<string, Tensor>;
  /** Returns a summary of that average. */
  summary(): AverageSummary;
  state(): FollowerState;
  /**
   * Restores a saved state by copying its tensors. A state that does not fit throws an error before anything changes.
   */
  loadState(state: Readonly<FollowerState>): void;
  /** Frees the follower's tensors. */
  dispose(): void;
}

type SettingSpecs = Readonly<Record<string, OptionWithDefault<number | string>>>;

/** The properties of a definition. */
export interface FollowerFacts<S extends SettingSpecs = SettingSpecs> {
  /** The name of the file. */
  readonly id: string;
  /** The paper's spelling. */
  readonly title: string;
  readonly paper: string;
  readonly settings: S;
  /** Defaults that differ for a dataset, by dataset id. */
  readonly forDataset?: Readonly<Record<string, Partial<ValuesOf<S>>>>;
  /** Whether to evaluate the average during training, or only when training has ended. */
  readonly evaluated: "always" | "at the end";
}

/**
 * A follower's definition. Call it to create a follower: `swad({ tolerance: 0.2 })`. The call validates the settings.
 */
export interface FollowerDefinition<S extends SettingSpecs = SettingSpecs> extends FollowerFacts<S> {
  (options?: Readonly<Record<string, unknown>>, dataset?: string): Follower;
}

/** Creates a definition from its properties and a function that builds a follower from resolved settings. */
export function defineFollower<const S extends SettingSpecs>(
  facts: FollowerFacts<S>,
  build: (settings: ValuesOf<S>) => Follower,
): FollowerDefinition<S> {
  const make = (options: Readonly<Record<string, unknown>> = {}, dataset?: string): Follower => {
    const usual: Readonly<Record<string, unknown>> = (dataset && facts.forDataset?.[dataset]) || {};
    return build(readOptions(facts.id, facts.settings, options, { usual }));
  };
  return declare("follower", Object.assign(make, facts), { ...facts, build });
}
