/**
 * Early stopping of hyperparameter draws that are far behind; off by default. Selection by training-domain validation
 * takes the best draw of a cell, so a draw that cannot become the best need not be finished.
 *
 * The rule: at an evaluation after at least half of its updates, a draw is stopped if its best validation accuracy so
 * far (the mean over the `out` splits of training domains, as training-domain selection computes it) is below the worst
 * value that at least three finished draws of the same cell (dataset, held-out domains, method and trial) had reached
 * by that step. So none of the first three draws is ever stopped, and a stopped draw was last all the way. Accuracies
 * on held-out domains are not used. Which draws are stopped depends on the order in which runs end, and other selection
 * methods may miss them: this is why it is off by default.
 */

import { existsSync, readdirSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { ACCURACY, CURRENT, type RunRecord } from "../records/record.js";
import { DONE_FILE, methodOf, RECORDS_FILE, type RunSettings, readSettings, SETTINGS_FILE } from "../records/run.js";
import { readRecords } from "../records/store.js";
import { sweepPaths } from "./sweep-folder.js";

/** The share of a run's updates before which no run is stopped. */
const FROM = 0.5;

/** The number of finished draws that a cell must have. */
const FEWEST = 3;

/** The best validation accuracy of a run up to each evaluated step, in the order of steps. */
export type Trajectory = readonly { readonly step: number; readonly best: number }[];

/** Reads a run's trajectory from its records. */
export function trajectoryOf(records: readonly RunRecord[], settings: RunSettings): Trajectory {
  const training = new Set(settings.domains.filter((name) => !settings.testDomains.includes(name)));
  const sums = new Map<number, { sum: number; count: number }>();
  for (const { step, model, domain, split, metric, value } of records) {
    if (model !== CURRENT || metric !== ACCURACY || split !== "out" || domain === null || !training.has(domain))
      continue;
    const { sum, count } = sums.get(step) ?? { sum: 0, count: 0 };
    sums.set(step, { sum: sum + value, count: count + 1 });
  }
  let best = Number.NEGATIVE_INFINITY;
  return [...sums]
    .sort(([a], [b]) => a - b)
    .map(([step, { sum, count }]) => {
      best = Math.max(best, sum / count);
      return { step, best };
    });
}

/** The best accuracy of a run up to a step; undefined before its first evaluation. */
const bestBy = (trajectory: Trajectory, step: number): number | undefined =>
  trajectory.findLast((point) => point.step <= step)?.best;

/** Why a draw is stopped, compared with finished draws of its cell; undefined if it is not. */
export function whyHopeless(own: Trajectory, finished: readonly Trajectory[], steps: number): string | undefined {
  const now = own.at(-1);
  // After the last update there is nothing left to save.
  if (!now || now.step + 1 < FROM * steps || now.step + 1 >= steps || finished.length < FEWEST) return undefined;
  const reached = finished.flatMap((each) => bestBy(each, now.step) ?? []);
  if (reached.length < FEWEST || now.best >= Math.min(...reached)) return undefined;
  const percent = (value: number): string => `${(100 * value).toFixed(1)} %`;
  return `stopped early after step ${now.step}: validation accuracy ${percent(now.best)}, while ${reached.length} finished draws of its cell had at least ${percent(Math.min(...reached))}`;
}

/** The cell of a run. Selection chooses among the runs with the same cell. */
const cellOf = (settings: RunSettings): string =>
  JSON.stringify([settings.dataset, settings.testDomains, methodOf(settings, CURRENT), settings.trialSeed]);

const nameParts = (name: string): [id: string, rest: string] => [name.slice(0, 16), name.slice(16)];

/** Checks an active run after each evaluation. */
export class HopelessCheck {
  private why: string | undefined;
  private seen = 0;

  constructor(
    private readonly folder: string,
    private readonly run: string,
  ) {}

  /** Why the run is stopped; undefined if it is not. */
  verdict(): string | undefined {
    const path = join(this.run, RECORDS_FILE);
    const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
    if (this.why !== undefined || size === this.seen) return this.why;
    this.seen = size;
    const settings = readSettings(join(this.run, SETTINGS_FILE));
    const own = trajectoryOf(readRecords(path).records, settings);
    const steps = settings.steps ?? Number.POSITIVE_INFINITY;
    if ((own.at(-1)?.step ?? 0) + 1 >= FROM * steps) this.why = whyHopeless(own, this.finished(settings), steps);
    return this.why;
  }

  private finished(settings: RunSettings): Trajectory[] {
    const { runs } = sweepPaths(this.folder);
    const cell = cellOf(settings);
    const [, rest] = nameParts(basename(this.run)); // names of runs of one cell differ only in their ids
    const names = readdirSync(runs).filter((name) => nameParts(name)[1] === rest);
    return names.flatMap((name) => {
      const folder = join(runs, name);
      if (!existsSync(join(folder, DONE_FILE))) return [];
      const other = readSettings(join(folder, SETTINGS_FILE));
      return cellOf(other) === cell ? [trajectoryOf(readRecords(join(folder, RECORDS_FILE)).records, other)] : [];
    });
  }
}
