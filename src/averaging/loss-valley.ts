/**
 * LossValley: which stretch of training to average (Cha et al., SWAD: Domain Generalization by Seeking Flat Minima,
 * NeurIPS 2021, https://arxiv.org/abs/2102.08604, algorithm 1, as its official code runs it, revision 252190e).
 * Training is cut into segments, one an evaluation, each with the validation loss at its end. The valley starts where
 * the loss has stopped falling, and ends where the loss has stayed above a threshold for a while.
 *
 * The rules here are of segments alone and know nothing of tensors: `push` and `finish` say which segments to add to
 * the average. The official code's quirk is kept, on which published numbers stand: the segment where the valley starts
 * is usually counted twice, once when the valley is found and once when it comes to the end of the queue.
 */

import { EngineError, UsageError } from "../errors.js";

/** A stretch of training between two evaluations. */
export interface Segment {
  readonly startStep: number;
  readonly endStep: number;
  /** The trained model's validation loss at its end. */
  readonly loss: number;
}

export interface ValleySettings {
  /** Evaluations without a new minimum until the loss counts as converged: the paper's Ns. */
  readonly converge: number;
  /** Evaluations above the threshold until the valley counts as left: the paper's Ne. */
  readonly patience: number;
  /** How far above the loss at convergence the threshold lies, as a fraction: the paper's r. */
  readonly tolerance: number;
}

/** What to do after an evaluation. */
export interface ValleyStep<S> {
  /** The average starts now, holding this segment only for as long as nothing is added. */
  readonly start?: S;
  /** Segments to add to the average, in order; one may come again later. */
  readonly add: readonly S[];
}

/** Where the search for the valley stands. */
export interface ValleyState<S extends Segment> {
  /** The latest segments, oldest first: as many as the rules may still ask for. */
  readonly recent: readonly S[];
  /** The end of the segment where the valley starts; undefined until it is found. */
  readonly convergeStep?: number;
  readonly threshold?: number;
  /** Whether the valley has been left for good. */
  readonly dead: boolean;
}

export class LossValley<S extends Segment> {
  private recent: readonly S[] = [];
  private convergeStep: number | undefined;
  private limit: number | undefined;
  private left = false;

  constructor(readonly settings: ValleySettings) {
    const { converge, patience, tolerance } = settings;
    for (const [name, value] of Object.entries({ converge, patience }))
      if (!Number.isSafeInteger(value) || value < 1)
        throw new UsageError(`loss valley: expected ${name} to be an integer of at least 1, got ${value}`);
    if (!(tolerance >= 0 && Number.isFinite(tolerance)))
      throw new UsageError(`loss valley: expected tolerance to be a number from 0, got ${tolerance}`);
  }

  get state(): ValleyState<S> {
    return { recent: this.recent, convergeStep: this.convergeStep, threshold: this.limit, dead: this.left };
  }

  set state({ recent, convergeStep, threshold, dead }: ValleyState<S>) {
    this.recent = recent;
    this.convergeStep = convergeStep;
    this.limit = threshold;
    this.left = dead;
  }

  /** Takes a segment in at its evaluation. Once the valley is dead nothing changes any more. */
  push(segment: S): ValleyStep<S> {
    if (this.left) return { add: [] };
    if (!Number.isFinite(segment.loss)) {
      const what = `the validation loss at step ${segment.endStep} is ${segment.loss}`;
      throw new EngineError(`loss valley: ${what}: training has diverged. Lower the learning rate`, "loss-valley");
    }
    const { converge, patience } = this.settings;
    const longest = this.convergeStep === undefined ? Math.max(converge, patience) : patience;
    this.recent = [...this.recent, segment].slice(-longest);
    return this.convergeStep === undefined ? this.lookForStart() : this.goOn();
  }

  /**
   * What to add if training ended now; asking changes nothing. Before the valley is found, the last segment is all
   * there is.
   */
  finish(): ValleyStep<S> {
    if (this.convergeStep === undefined) return { start: this.recent.at(-1), add: [] };
    if (this.left) return { add: [] };
    const queue = this.smoothing().slice(1);
    const beyond = queue.findIndex((_, i) => lowest(queue.slice(i)) > this.limit!);
    return { add: beyond === -1 ? queue : queue.slice(0, beyond) };
  }

  /** The queue that smooths the loss: the latest Ne. */
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
    const from = before.findLastIndex(({ loss }) => loss > this.limit!) + 1; // 0 where none is above
    return { start: oldest, add: before.slice(from + 1) }; // the segment at `from` itself is not added
  }

  private goOn(): ValleyStep<S> {
    const queue = this.smoothing();
    if (queue[0].endStep < this.convergeStep!) return { add: [] };
    if (lowest(queue) <= this.limit!) return { add: [queue[0]] };
    this.left = true;
    this.recent = [];
    return { add: [] };
  }
}

const lowest = (segments: readonly Segment[]): number => Math.min(...segments.map(({ loss }) => loss));
