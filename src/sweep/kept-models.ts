/**
 * Which models of a sweep stay on disk: all of them, in each group of runs that differ only in draw and seed the one that
 * validation on the training domains chooses, or none. Models are most of the size of a sweep, and a report needs none.
 *
 * A model is deleted when its run is done and another finished run of its group is better. What is best of all runs is best
 * of any part of them, so processes that finish runs at the same time never delete it.
 */

import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { CURRENT, evaluatedRuns } from "../records/index.js";
import { DONE_FILE, RETRAINED, readRun } from "../records/run.js";
import { mean } from "../selection/mean.js";
import { modelsIn } from "./clean.js";
import { groupKey } from "./combinations.js";
import { type PlannedRun, planLines, readSweepFile, sweepPaths } from "./sweep-folder.js";

export const keptModels = ["all", "chosen", "none"] as const;
export type KeptModels = (typeof keptModels)[number];

/** Deletes the models of a sweep that need not stay, after each of its runs. */
export class ModelKeeper {
  private groups = new Map<string, readonly string[]>();

  constructor(private readonly folder: string) {}

  /** Called when a run is done. */
  afterRun({ id, facts, request }: Pick<PlannedRun, "id" | "facts" | "request">): void {
    const { models = "all" } = readSweepFile(this.folder);
    if (models === "all") return;
    const members = this.membersOf(id, groupKey({ facts, request })).filter((path) =>
      existsSync(join(path, DONE_FILE)),
    );
    const best = models === "chosen" ? bestOf(members) : undefined;
    for (const path of members) if (path !== best) for (const model of modelsIn(path)) rmSync(model, { force: true });
  }

  /** The folders of the runs of a group, in the order in which reports read them. */
  private membersOf(id: string, key: string): readonly string[] {
    const paths = sweepPaths(this.folder);
    const isKnown = (): boolean => this.groups.get(key)?.some((path) => path.includes(id)) ?? false;
    if (!isKnown()) {
      const groups = new Map<string, string[]>();
      for (const run of planLines(this.folder)) {
        const own = groupKey(run);
        groups.set(own, [...(groups.get(own) ?? []), paths.run(run.name)]);
      }
      for (const own of groups.values()) own.sort();
      this.groups = groups;
    }
    return this.groups.get(key) ?? [];
  }
}

/** The run whose model has the highest validation accuracy on the training domains; the first of equal ones. */
function bestOf(paths: readonly string[]): string | undefined {
  let best: { path: string; validation: number } | undefined;
  for (const path of paths) {
    const validation = validationOf(path);
    if (best === undefined || validation > best.validation) best = { path, validation };
  }
  return best?.path;
}

/** The validation accuracy of the model for use: of the first average if there is one, or that of the retrained model. */
function validationOf(path: string): number {
  const stored = readRun(path);
  const { runs } = evaluatedRuns(stored);
  const model = runs.some((run) => run.method.model === RETRAINED)
    ? RETRAINED
    : (stored.settings.averaging[0]?.id ?? CURRENT);
  const own = runs.find((run) => run.method.model === model);
  if (!own) return Number.NEGATIVE_INFINITY;
  const training = own.domains.filter((domain) => !own.testDomains.includes(domain));
  const values = own.evaluations.map(({ accuracy }) => mean(training.map((domain) => accuracy.get(domain)?.out ?? 0)));
  return Math.max(...values);
}
