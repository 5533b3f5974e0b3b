/**
 * Notes that are useful before a sweep is executed: runs that end before a penalty becomes active. The report mentions
 * it too, but only after the machine time is spent.
 */

import { algorithms } from "../algorithms/index.js";
import type { TrainSettings } from "../settings/settings.js";

type Planned = Pick<TrainSettings, "algorithm" | "hparams" | "hparamsSeed" | "regularizers" | "steps">;

/** Collects notes from the settings of runs while they are planned. */
export class PlanNotes {
  /** By penalty, the step at which it becomes active, and the number of steps of the shortest run that never reaches it. */
  private readonly silent = new Map<string, { readonly warmup: number; readonly steps: number }>();
  /** By algorithm, the step from which its own penalty has its full weight, and the number of steps of the shortest run that never reaches it. */
  private readonly unfinished = new Map<string, { readonly anneal: number; readonly steps: number }>();

  add({ algorithm, hparams, hparamsSeed, regularizers, steps }: Planned): void {
    for (const { id, settings } of regularizers) {
      const warmup = Number(settings.warmup ?? 0);
      if (warmup >= steps) this.silent.set(id, shorter(this.silent.get(id), { warmup, steps }));
    }
    // A drawn value can exceed the length of the run by chance, as in DomainBed. Only the defaults are checked.
    const anneal = Number(hparams.annealSteps ?? 0);
    if (hparamsSeed === 0 && anneal >= steps)
      this.unfinished.set(algorithm, shorter(this.unfinished.get(algorithm), { anneal, steps }));
  }

  get texts(): string[] {
    return [
      ...Array.from(
        this.silent,
        ([id, { warmup, steps }]) =>
          `${id} has no effect in runs of ${steps} steps, because it becomes active at step ${warmup}; use ${id}.warmup=0 to apply it from the start`,
      ),
      ...Array.from(
        this.unfinished,
        ([id, { anneal, steps }]) =>
          `${algorithms[id]?.title ?? id}: its own penalty reaches its full weight at step ${anneal} (annealSteps), but runs end after ${steps} steps`,
      ),
    ];
  }
}

const shorter = <T extends { readonly steps: number }>(before: T | undefined, now: T): T =>
  before && before.steps <= now.steps ? before : now;
