/**
 * The soups and ensembles of a sweep: the runs that each combines, its folder, and whether it can be created. Combined runs
 * differ only in seed and draw. They have the same method, dataset, trial and held-out domains, so that none was trained on the
 * validation pictures of another. A combination is stored among the runs, with settings, records and `done` like a run, so that
 * reports, the dashboard and packs read it as another row.
 */

import { existsSync } from "node:fs";
import { join } from "node:path";
import { canonicalJson, textHash } from "../files/canonical-json.js";
import { groupBy } from "../group-by.js";
import { DONE_FILE } from "../records/run.js";
import type { CombinationKind } from "./combination-kinds.js";
import { planLines, type RunRequest, readSweepFile, sweepPaths } from "./sweep-folder.js";
import { readVerdicts } from "./verdicts.js";

export interface Combination {
  readonly id: string;
  /** Its folder under `runs`. */
  readonly name: string;
  readonly kind: CombinationKind;
  readonly members: readonly Member[];
  /** The number of runs that were planned for it. */
  readonly of: number;
}

interface Member {
  readonly id: string;
  readonly name: string;
}

interface Planned extends Member {
  readonly facts?: string;
  readonly request: RunRequest;
}

/** The groups of at least two runs that can be combined. */
export function groupsOf<T extends Planned>(runs: Iterable<T>): T[][] {
  return [...groupBy(runs, (run) => groupKey(run)).values()].filter(({ length }) => length > 1);
}

/** The key that all runs of a group share: all settings except the seed and drawn values, and the same samples and code. */
export function groupKey({ request, facts }: Pick<Planned, "request" | "facts">): string {
  const { data, testDomains, trialSeed, algorithm, regularizers, averaging, fixed = [] } = request;
  // By name: a drawn value that equals the default is at another place in the list.
  const byHand = Object.fromEntries((fixed as readonly string[]).map((name) => [name, request[name] ?? null]));
  return canonicalJson({ data, testDomains, trialSeed, algorithm, regularizers, averaging, byHand, facts });
}

/** The combinations that were requested for a sweep. */
export function combinationsOf(folder: string): Combination[] {
  const { combine = [] } = readSweepFile(folder);
  if (combine.length === 0) return [];
  const lines = Array.from(planLines(folder), ({ id, name, facts, request }) => ({ id, name, facts, request }));
  return groupsOf(lines).flatMap((group) =>
    combine.map((kind) => {
      const members = group.map(({ id, name }) => ({ id, name })).sort((a, b) => (a.id < b.id ? -1 : 1));
      const id = textHash(canonicalJson({ kind, members: members.map((each) => each.id) }));
      return { id, name: `${id}-${nameOf(group[0].name, kind)}`, kind, members, of: members.length };
    }),
  );
}

/** `<id>-pacs-sketch-erm-trial0` becomes `pacs-sketch-erm-soup-trial0`. */
const nameOf = (member: string, kind: CombinationKind): string =>
  member.replace(/^[0-9a-f]{16}-/, "").replace(/-(trial\d+)$/, `-${kind}-$1`);

/** The missing combinations that can be created, with their finished runs. Their other runs failed or were cancelled. */
export function readyCombinations(folder: string): Combination[] {
  const all = combinationsOf(folder);
  if (all.length === 0) return [];
  const paths = sweepPaths(folder);
  const isDone = (name: string): boolean => existsSync(join(paths.run(name), DONE_FILE));
  const open = all.filter(({ name }) => !isDone(name));
  if (open.length === 0) return [];
  const verdicts = readVerdicts(folder);
  return open.flatMap((combination) => {
    const members = combination.members.filter(({ name }) => isDone(name));
    const settled = combination.members.every(
      (member) => members.includes(member) || (verdicts.get(member.id)?.state ?? null) !== null,
    );
    return settled && members.length > 1 ? [{ ...combination, members }] : [];
  });
}
