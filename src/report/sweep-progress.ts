/** The progress of sweeps as text, and the commands that add missing runs of a report. */

import { join, sep } from "node:path";
import type { StoredRun } from "../records/index.js";
import { runIdOf } from "../records/run.js";
import type { ReportedSweep } from "../run-index/indexed-sweep.js";
import { noCounts, RUN_STATES, runState, type StateCounts } from "../sweep/run-state.js";
import { askedDomains, commandOn, hasPairs, planAgain } from "./plan-again.js";

/** The beginning of the paths of a sweep's runs. */
const startOf = ({ folder }: ReportedSweep): string => join(folder, "runs") + sep;

/** Whether a run belongs to one of some sweeps. */
export const isInSweep = ({ folder }: StoredRun, sweeps: readonly ReportedSweep[]): boolean =>
  sweeps.some((sweep) => folder.startsWith(startOf(sweep)));

/** The number of runs of a sweep in each state. It does not check whether a process is working on a run. */
function progressOf(sweep: ReportedSweep, stored: readonly StoredRun[]): StateCounts {
  const counts = noCounts();
  const start = startOf(sweep);
  const unseen = new Map(sweep.verdicts);
  for (const run of stored) {
    const { folder, settings, done: isDone } = run;
    if (!folder.startsWith(start) || settings.combination !== undefined) continue;
    const id = runIdOf(run);
    counts[runState({ isDone, isBegun: true, verdict: sweep.verdicts.get(id) })]++;
    unseen.delete(id);
  }
  for (const verdict of unseen.values()) counts[runState({ isDone: false, isBegun: false, verdict })]++;
  counts.waiting += Math.max(0, sweep.planned - RUN_STATES.reduce((sum, state) => sum + counts[state], 0));
  return counts;
}

/** The progress of a sweep that has started and is not finished, with what failed and how to resume; otherwise null. */
export const sweepWords = (sweep: ReportedSweep, stored: readonly StoredRun[]): string | null =>
  progressWords(sweep, progressOf(sweep, stored));

function progressWords(sweep: ReportedSweep, counted: StateCounts): string | null {
  const { done, stopped, failed, cancelled, hopeless, waiting } = counted;
  if (done >= sweep.planned || waiting === sweep.planned) return null;
  const counts = [
    `${done} of ${sweep.planned} planned runs are done`,
    ...(failed > 0 ? [`${failed} failed`] : []),
    ...(cancelled > 0 ? [`${cancelled} cancelled`] : []),
    ...(hopeless > 0 ? [`${hopeless} stopped early`] : []),
    ...(stopped > 0 ? [`${stopped} started and counted up to their last evaluation`] : []),
  ];
  const first = sweep.firstFailure;
  return [
    `${sweep.folder}: ${counts.join(", ")}.`,
    ...(first ? [`${failed === 1 ? "It was" : "The first to fail:"} ${first.title}: ${first.error}.`] : []),
    ...(failed > 0 ? [`Details: ${commandOn(sweep, "nudge sweep status")}.`] : []),
    ...(failed + cancelled > 0 ? [`Restore them with: ${commandOn(sweep, "nudge sweep retry")}`] : []),
    ...(waiting + stopped > 0 ? [`Run the rest with: ${commandOn(sweep, "nudge sweep run")}`] : []),
  ].join(" ");
}

/** The sweeps of some runs, which know what would fill a cell. */
export class SweepRemedies {
  private readonly progress: ReadonlyMap<ReportedSweep, StateCounts>;

  constructor(
    private readonly sweeps: readonly ReportedSweep[],
    stored: readonly StoredRun[],
  ) {
    this.progress = new Map(sweeps.map((sweep) => [sweep, progressOf(sweep, stored)]));
  }

  /** The progress of each sweep that has started and is not finished. */
  get words(): string[] {
    return Array.from(this.progress).flatMap(([sweep, counts]) => progressWords(sweep, counts) ?? []);
  }

  /** The sweeps that plan some of these trials of a dataset, by the name it was given. */
  private planning(data: string, trials: readonly number[]): ReportedSweep[] {
    return this.sweeps.filter((sweep) =>
      trials.some((seed) => Object.hasOwn(sweep.trials, data) && sweep.trials[data].includes(seed)),
    );
  }

  /** One note for all runs that a sweep will still execute or that failed in it; null if nothing is missing. */
  unmade(data: string, missing: readonly number[]): string | null {
    const lacks = ({ waiting, stopped, failed, cancelled }: StateCounts): boolean =>
      waiting + stopped + failed + cancelled > 0;
    const sweep = this.planning(data, missing).find((each) => lacks(this.progress.get(each)!));
    if (!sweep) return null;
    const { failed, cancelled, waiting, stopped } = this.progress.get(sweep)!;
    const run = `run the rest with: ${commandOn(sweep, "nudge sweep run")}`;
    const retry = `restore them with: ${commandOn(sweep, "nudge sweep retry")}`;
    if (failed + cancelled === 0) return `not all of its planned runs are finished; ${run}`;
    const stuck =
      failed > 0
        ? `some of the sweep's runs failed (why: ${commandOn(sweep, "nudge sweep status")})`
        : "some of the sweep's runs were cancelled";
    return waiting + stopped > 0 ? `${stuck}; ${retry}; then ${run}` : `${stuck}; ${retry}`;
  }

  /**
   * One note for all rows without trials that a finished sweep has for other rows; null if no sweep plans them. A
   * command for each run would suggest that runs are missing by mistake.
   */
  unplanned(data: string, missing: readonly number[]): string | null {
    if (this.planning(data, missing).length === 0) return null;
    const [trials, them] = missing.length === 1 ? ["trial", "it"] : ["trials", "them"];
    return `the sweep is finished and has no run of this row in ${trials} ${missing.join(", ")}; plan ${them} to add ${them}`;
  }

  /** One note for all cells that cross-validation leaves empty, if a sweep planned no pairs of domains. */
  withoutPairs(data: string, trials: readonly number[]): string | null {
    const planning = this.planning(data, trials);
    const [sweep] = planning;
    if (!sweep || planning.some(hasPairs)) return null;
    const how = askedDomains(sweep) ? "with --pairs and without --test-domains" : "with --pairs";
    return `leave-one-domain-out cross-validation also needs runs with two domains held out together, which the sweep does not have; plan it again ${how} to add them: ${planAgain(sweep, { pairs: true })}`;
  }

  /** One note for all columns of domains that a sweep did not include; null if it did. */
  withoutDomain(data: string, trials: readonly number[], domain: string): string | null {
    const planning = this.planning(data, trials);
    const [sweep] = planning;
    if (!sweep || planning.some((each) => askedDomains(each)?.has(domain) !== false)) return null;
    return `the sweep was planned with --test-domains, which did not include this domain; plan it again without that option to add it: ${planAgain(sweep)}`;
  }
}
