/**
 * What whoever plans a sweep would rather know before it is made: runs that are over before a penalty of theirs sets in. The
 * report says so too, but by then the machine time is spent.
 */

import { algorithms } from "../algorithms/index.js";
import type { TrainSettings } from "../settings/settings.js";

type Planned = Pick<TrainSettings, "algorithm" | "hparams" | "hparamsSeed" | "regularizers" | "steps">;

/** Gathers what is worth a note from the settings of runs as they are planned. */
export class PlanNotes {
  /** By penalty, the step it sets in at and the steps of the shortest run that never gets there. */
  private readonly silent = new Map<string, { readonly warmup: number; readonly steps: number }>();
  /** By algorithm, the step from which its own penalty has its full weight, and the same. */
  private readonly unfinished = new Map<string, { readonly anneal: number; readonly steps: number }>();

  tell({ algorithm, hparams, hparamsSeed, regularizers, steps }: Planned): void {
    for (const { id, settings } of regularizers) {
      const warmup = Number(settings.warmup ?? 0);
      if (warmup >= steps) this.silent.set(id, shorter(this.silent.get(id), { warmup, steps }));
    }
    // A draw may be beyond the run by chance, as the reference's are; only the defaults say how the runs were meant.
    const anneal = Number(hparams.annealSteps ?? 0);
    if (hparamsSeed === 0 && anneal >= steps)
      this.unfinished.set(algorithm, shorter(this.unfinished.get(algorithm), { anneal, steps }));
  }

  get texts(): string[] {
    return [
      ...Array.from(
        this.silent,
        ([id, { warmup, steps }]) =>
          `${id} adds nothing in runs of ${steps} steps: it sets in at step ${warmup}; ${id}.warmup=0 turns it on from the start`,
      ),
      ...Array.from(
        this.unfinished,
        ([id, { anneal, steps }]) =>
          `${algorithms[id]?.title ?? id}: its own penalty has its full weight from step ${anneal} on (annealSteps), and runs end after ${steps}`,
      ),
    ];
  }
}

const shorter = <T extends { readonly steps: number }>(before: T | undefined, now: T): T =>
  before && before.steps <= now.steps ? before : now;
