/**
 * LossValley decides which part of training to average (Cha et al., SWAD: Domain Generalization by Seeking Flat Minima,
 * NeurIPS 2021, https://arxiv.org/abs/2102.08604, Algorithm 1, as in the official code, revision 252190e).
 *
 * Training is divided into segments, one per evaluation, each with the validation loss at its end. The valley starts
 * where the loss has stopped decreasing, and ends where the loss has stayed above a threshold for a number of
 * evaluations.
 *
 * These rules only use segments and no tensors: `push` and `finish` return the segments to add to the average. A quirk
 * of the official code is kept, because the published numbers depend on it: the segment where the valley starts is
 * usually added twice, once when the valley is found and once when it reaches the end of the queue.
 */

import { EngineError, UsageError } from "../errors.js";

/** The part of training between two evaluations. */
export interface Segment {
  readonly startStep: number;
  readonly endStep: number;
  /** The validation loss of the trained model at the end of the segment. */
  readonly loss: number;
}

export interface ValleySettings {
  /** Evaluations without a new minimum until the loss counts as converged (Ns in the paper). */
  readonly converge: number;
  /** Evaluations above the threshold until the valley ends (Ne in the paper). */
  readonly patience: number;
  /** How far the threshold is above the loss at convergence, as a fraction (r in the paper). */
  readonly tolerance: number;
}

/** The change to the average after an evaluation. */
export interface ValleyStep<S> {
  /** If set, the average starts now. It equals this segment until the first segment is added. */
  readonly start?: S;
  /** Segments to add to the average, in order. A segment may appear again later. */
  readonly add: readonly S[];
}

/** The state of the search for the valley. */
export interface ValleyState<S extends Segment> {
  /** The latest segments, oldest first, as many as the rules may still need. */
  readonly recent: readonly S[];
  /** The last step of the segment where the valley starts. Undefined until the valley is found. */
  readonly convergeStep?: number;
  readonly threshold?: number;
  /** Whether the valley has ended. */
  readonly dead: boolean;
}

export class LossValley<S extends Segment> {
  private recent: readonly S[] = [];
  private convergeStep: number | undefined;
  private limit: number | undefined;
  private ended = false;

  constructor(readonly settings: ValleySettings) {
    const { converge, patience, tolerance } = settings;
    for (const [name, value] of Object.entries({ converge, patience }))
      if (!Number.isSafeInteger(value) || value < 1)
        throw new UsageError(`loss valley: expected ${name} to be an integer of at least 1, got ${value}`);
    if (!(tolerance >= 0 && Number.isFinite(tolerance)))
      throw new UsageError(`loss valley: expected tolerance to be a number from 0, got ${tolerance}`);
  }

  get state(): ValleyState<S> {
    return { recent: this.recent, convergeStep: this.convergeStep, threshold: this.limit, dead: this.ended };
  }

  set state({ recent, convergeStep, threshold, dead }: ValleyState<S>) {
    this.recent = recent;
    this.convergeStep = convergeStep;
    this.limit = threshold;
    this.ended = dead;
  }

  /** Adds a segment at its evaluation. After the end of the valley this has no effect. */
  push(segment: S): ValleyStep<S> {
    if (this.ended) return { add: [] };
    if (!Number.isFinite(segment.loss)) {
      const what = `the validation loss at step ${segment.endStep} is ${segment.loss}`;
      throw new EngineError(`loss valley: ${what}: training has diverged. Lower the learning rate`, "loss-valley");
    }
    const { converge, patience } = this.settings;
    const longest = this.convergeStep === undefined ? Math.max(converge, patience) : patience;
    this.recent = [...this.recent, segment].slice(-longest);
    return this.convergeStep === undefined ? this.lookForStart() : this.extendValley();
  }

  /**
   * Returns what to add if training ended now, without changing the state. Before the valley is found, this is the last
   * segment.
   */
  finish(): ValleyStep<S> {
    if (this.convergeStep === undefined) return { start: this.recent.at(-1), add: [] };
    if (this.ended) return { add: [] };
    const queue = this.smoothing().slice(1);
    const beyond = queue.findIndex((_, i) => lowest(queue.slice(i)) > this.limit!);
    return { add: beyond === -1 ? queue : queue.slice(0, beyond) };
  }

  /** Returns the queue that smooths the loss: the latest Ne segments. */
  private smoothing(): readonly S[] {
    return this.recent.slice(-this.settings.patience);
  }

  private lookForStart(): ValleyStep<S> {
    const { converge, patience, tolerance } = this.settings;
    const queue = this.recent.slice(-converge);
    const [oldest] = queue;
    if (queue.length < converge || queue.some(({ loss }) => loss < oldest.loss)) return { add: [] };
    this.convergeStep = oldest.endStep;
    this.limit = (queue.reduce((total, { loss }) => total + loss, 0) / converge) * (1 + tolerance);
    if (patience < converge) return { start: oldest, add: queue.slice(1, 1 + converge - patience) };
    if (patience === converge) return { start: oldest, add: [] };
    const before = this.smoothing().slice(0, patience - converge + 1);
    const from = before.findLastIndex(({ loss }) => loss > this.limit!) + 1; // 0 if no loss is above the limit
    return { start: oldest, add: before.slice(from + 1) }; // the segment at `from` itself is not added
  }

  private extendValley(): ValleyStep<S> {
    const queue = this.smoothing();
    if (queue[0].endStep < this.convergeStep!) return { add: [] };
    if (lowest(queue) <= this.limit!) return { add: [queue[0]] };
    this.ended = true;
    this.recent = [];
    return { add: [] };
  }
}

const lowest = (segments: readonly Segment[]): number => Math.min(...segments.map(({ loss }) => loss));
