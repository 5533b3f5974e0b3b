/**
 * The contract of an averaging follower: it watches a run's parameters and keeps an average of them, without touching
 * the run, so it fits any algorithm, and one trajectory yields the trained model's results and the average's.
 *
 *     follower.afterUpdate(step, parameters);                      // after every update
 *     if (follower.atEvaluation(step, loss) === "stop") break;     // after every evaluation of the trained model
 *     scope(() => model.loadStateDict(follower.weights(), …));     // the average, for evaluation or a file
 *
 * Parameters are averaged and buffers are not: with batch-norm statistics that train, measure them again for the
 * average.
 */

import { declare } from "../definitions.js";
import type { Tensor } from "../engine/tensor.js";
import { type OptionWithDefault, readOptions, type ValuesOf } from "../options.js";

/** Parameters by name: the run's own tensors, or those of an average. */
export type NamedTensors = ReadonlyMap<string, Tensor>;

/** What a follower remembers: all it needs to go on, bit for bit. */
export interface FollowerState {
  /** The follower's own tensors, not copies: write or clone them before the next update. */
  readonly tensors: Map<string, Tensor>;
  /** Finite numbers, so that JSON holds them. */
  readonly numbers: Record<string, number>;
}

/** What went into an average, for the log and for reports. */
export interface AverageSummary {
  /** How many things were averaged: updates, or SWAD's segments. */
  readonly count: number;
  /** The first and the last step among them. */
  readonly from: number;
  readonly to: number;
}

export interface Follower extends Disposable {
  readonly id: string;
  /** Every setting, defaults filled in: what a run records. */
  readonly settings: Readonly<Record<string, number | string>>;
  /** Sees the parameters that training starts from, before the first update. */
  begin?(parameters: NamedTensors): void;
  /** Takes in the parameters after an update. */
  afterUpdate(step: number, parameters: NamedTensors): void;
  /**
   * Takes the trained model's validation loss (the mean over training domains of the mean cross-entropy on `out`). It
   * says "stop" where going on cannot change the average any more.
   */
  atEvaluation(step: number, validationLoss: number): "continue" | "stop";
  /** What is compared on validation pictures when training ends, and `choose` is called with the best of; absent or empty for nothing. */
  readonly candidates?: readonly number[];
  choose?(candidate: number): void;
  /** The average as it would be if training ended now: new tensors, of the scope the call is made in. */
  weights(): Map<string, Tensor>;
  /** What is in that average. */
  summary(): AverageSummary;
  state(): FollowerState;
  /** Puts a saved state back; tensors are copied. What does not fit is an error, before anything changes. */
  loadState(state: Readonly<FollowerState>): void;
  /** Frees what it keeps. */
  dispose(): void;
}

type SettingSpecs = Readonly<Record<string, OptionWithDefault<number | string>>>;

/** What a definition says of itself. */
export interface FollowerFacts<S extends SettingSpecs = SettingSpecs> {
  /** The file's name. */
  readonly id: string;
  /** As papers spell it. */
  readonly title: string;
  readonly paper: string;
  readonly settings: S;
  /** Settings that a dataset's protocol has otherwise, by the dataset's id. */
  readonly forDataset?: Readonly<Record<string, Partial<ValuesOf<S>>>>;
  /** Whether the average is worth evaluating along the way, or only when training has ended. */
  readonly evaluated: "always" | "at the end";
}

/** A follower's definition; call it to have one: `swad({ tolerance: 0.2 })`. Settings from outside are checked. */
export interface FollowerDefinition<S extends SettingSpecs = SettingSpecs> extends FollowerFacts<S> {
  (options?: Readonly<Record<string, unknown>>, dataset?: string): Follower;
}

/** Makes a definition from its facts and from what builds a follower of resolved settings. */
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
