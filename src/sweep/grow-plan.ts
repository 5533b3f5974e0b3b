/**
 * Adds planned runs to a sweep folder. Existing runs keep their order, and new ones come after them; so planning the
 * same sweep again changes nothing, and a changed one shares what it can. Paths are not part of a run's name: if it is
 * planned again with another root or device, it runs there.
 */

import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { followers } from "../averaging/index.js";
import { rememberCache } from "../data/named-folders.js";
import { isOwnDataset } from "../data/own-dataset.js";
import { machineKeys, movableKeys } from "../declared-settings/declared.js";
import { DataError, UsageError } from "../errors.js";
import { canonicalJson } from "../files/canonical-json.js";
import { FolderLock } from "../files/folder-lock.js";
import { makeFolder } from "../files/make-folder.js";
import { DONE_FILE, SETTINGS_FILE } from "../records/run.js";
import { editionId } from "../settings/edition.js";
import {
  checkSweepPlaces,
  isSweepFolder,
  PLAN_LOCK,
  type PlannedRun,
  type RunRequest,
  readSweepFile,
  type SweepFile,
  sweepPaths,
  uncountedPlan,
  writePlan,
  writeSweepFile,
} from "./sweep-folder.js";

export interface Growth {
  /** The number of runs that the plan now has. */
  readonly runs: number;
  /** The runs that were not in the plan. */
  readonly added: readonly PlannedRun[];
  /** Runs of the plan that now have another root, device or other setting of the machine, by id. */
  readonly moved: ReadonlyMap<string, PlannedRun>;
  /** Runs of the plan whose samples or code have changed since they began, so that another run has their settings, by id. */
  readonly changed: ReadonlySet<string>;
  /** The number of runs that are not planned separately, because another one has their trajectory. */
  readonly shared: number;
}

export interface PlanWords extends Pick<SweepFile, "name" | "protocol"> {
  /** The request, as data. */
  readonly request: unknown;
  /** The combinations of the runs of a trial. */
  readonly combine?: SweepFile["combine"];
  /** The paths of the loaded plug-ins. */
  readonly plugins?: readonly string[];
  /** The models that stay; by default as planned before. */
  readonly models?: SweepFile["models"];
}

/** Adds runs to the plan in a folder, which is created if needed; one planner at a time. */
export async function growPlan(folder: string, description: PlanWords, wanted: readonly PlannedRun[]): Promise<Growth> {
  try {
    makeFolder(folder);
  } catch (cause) {
    throw new DataError(`sweep folder ${folder}: it could not be created: ${(cause as Error).message}`, { cause });
  }
  checkSweepPlaces(folder);
  using _lock = await FolderLock.take(join(folder, PLAN_LOCK));
  for (const cache of new Set(wanted.map(({ request }) => request.cache))) rememberCache(cache);
  const growth = growthOf(uncountedPlan(folder), wanted, begunIn(folder));
  const file = isSweepFolder(folder) ? readSweepFile(folder) : undefined;
  const grown = {
    name: file?.name ?? description.name,
    protocol: union(file?.protocol ?? [], description.protocol),
    requests: union(file?.requests ?? [], [description.request]),
    combine: union(file?.combine ?? [], description.combine ?? []),
    models: description.models ?? file?.models,
    plugins: union(file?.plugins ?? [], description.plugins ?? []),
  };
  checkKept(grown);
  const { added, moved } = growth;
  if (added.length > 0 || moved.size > 0 || file === undefined)
    writePlan(folder, grown, chain(replaced(uncountedPlan(folder), moved), added));
  else writeSweepFile(folder, { ...grown, runs: growth.runs, trials: file.trials });
  return growth;
}

/** Soups and ensembles need the models of all their runs. */
export function checkKept({ combine = [], models = "all" }: Pick<SweepFile, "combine" | "models">): void {
  if (models !== "all" && combine.length > 0)
    throw new UsageError(
      `--models ${models}: ${combine.join(" and ")} of runs need their models; use --models all, and nudge sweep clean --models when they are made`,
    );
}

/** Sets the folder of the named datasets in the plan of a sweep, for example of one that was planned on another machine. */
export async function movePlan(folder: string, root: string): Promise<void> {
  readSweepFile(folder); // for its error if there is no sweep, before the lock is created
  checkSweepPlaces(folder);
  using _lock = await FolderLock.take(join(folder, PLAN_LOCK));
  const isElsewhere = ({ dataset, request }: PlannedRun): boolean =>
    !isOwnDataset(dataset ?? "") && request.root !== root;
  const moved = new Map<string, PlannedRun>();
  for (const run of uncountedPlan(folder))
    if (isElsewhere(run)) moved.set(run.id, { ...run, request: { ...run.request, root } });
  if (moved.size > 0) writePlan(folder, readSweepFile(folder), replaced(uncountedPlan(folder), moved));
}

/** The first list, followed by the items of the second that are not in the first. */
function union<T>(texts: readonly T[], more: readonly T[]): T[] {
  const known = new Set(texts.map((each) => canonicalJson(each)));
  return [...texts, ...more.filter((each) => !known.has(canonicalJson(each)))];
}

function* replaced(plan: Iterable<PlannedRun>, moved: ReadonlyMap<string, PlannedRun>): Generator<PlannedRun> {
  for (const run of plan) yield moved.get(run.id) ?? run;
}

function* chain<T>(...parts: readonly Iterable<T>[]): Generator<T> {
  for (const part of parts) yield* part;
}

/** The changes to a plan when runs are added to it. The plan is read once, and only a small part of it is kept in memory. */
export function growthOf(
  before: Iterable<PlannedRun>,
  wanted: readonly PlannedRun[],
  isBegun: (run: PlannedRun) => boolean = () => true,
): Growth {
  const ids = new Set<string>();
  const requested = new Map(wanted.map((run) => [run.id, run]));
  const changed = new Map<string, PlannedRun>();
  const moved = new Map<string, PlannedRun>();
  const averaged = new Map<string, PlannedRun[]>();
  const keepAveraged = (run: PlannedRun): void => {
    if (averagesOf(run).length > 0) averaged.set(roughKey(run), [...(averaged.get(roughKey(run)) ?? []), run]);
  };
  for (const run of before) {
    ids.add(run.id);
    keepAveraged(run);
    const again = requested.get(run.id);
    const isChanged = run.facts !== undefined && again?.facts !== undefined && run.facts !== again.facts;
    if (isChanged && isBegun(run)) {
      changed.set(run.id, editionOf(again, again.facts!));
      continue;
    }
    const places = newPlaces(run, again);
    if (places.length > 0 || isChanged)
      moved.set(run.id, {
        ...run,
        ...(isChanged && { facts: again.facts }),
        request: { ...run.request, ...Object.fromEntries(places) },
      });
  }
  const editions = [...changed.values()];
  const unseen = [...wanted, ...editions].filter(({ id }) => !ids.has(id));
  unseen.forEach(keepAveraged);
  const isShared = (run: PlannedRun): boolean =>
    averaged.size > 0 && (averaged.get(roughKey(run)) ?? []).some((other) => covers(other, run));
  const added = unseen.filter((run) => !isShared(run));
  return {
    runs: ids.size + added.length,
    added,
    moved,
    changed: new Set(changed.keys()),
    shared: unseen.length - added.length,
  };
}

/** A planned run under an id that also depends on its facts, because a run with other facts has the id of its settings. */
function editionOf(run: PlannedRun, facts: string): PlannedRun {
  const id = editionId(run.id, facts);
  return {
    ...run,
    id,
    name: id + run.name.slice(run.id.length),
    title: `${run.title} · again, with changed samples or code`,
  };
}

/** Whether a planned run has begun, by its folder. */
export function begunIn(folder: string): (run: PlannedRun) => boolean {
  const paths = sweepPaths(folder);
  return ({ name }) => existsSync(join(paths.run(name), SETTINGS_FILE));
}

/** The paths and machine settings of a run that is planned again, as far as they are given and differ from the earlier ones. */
function newPlaces({ request }: PlannedRun, again: PlannedRun | undefined): [string, RunRequest[string]][] {
  if (again === undefined) return [];
  return Object.entries(again.request).filter(([name, value]) => isPlace(name) && request[name] !== value);
}

/** Whether a setting says where a run is executed: a path other than that of the pictures, which names them, or a setting of the machine. */
const isPlace = (name: string): boolean => name !== "data" && (movableKeys.includes(name) || machineKeys.has(name));

const averagesOf = ({ request }: PlannedRun): readonly string[] => (request.averaging ?? []) as readonly string[];

/** A key that all runs with one trajectory share, and few other runs. */
function roughKey({ request }: PlannedRun): string {
  const { data, testDomains, algorithm, regularizers, trialSeed, hparamsSeed, seed, steps } = request;
  return `${data} ${testDomains} ${algorithm} ${regularizers} ${trialSeed} ${hparamsSeed} ${seed} ${steps}`;
}

/** Whether a run provides all results of another one: it has the same trajectory, and its averages include those of the other. */
function covers(run: PlannedRun, other: PlannedRun): boolean {
  const [mine, theirs] = [averagesOf(run), averagesOf(other)];
  return (
    run.id !== other.id &&
    run.facts === other.facts &&
    theirs.length < mine.length &&
    theirs.every((id) => mine.includes(id)) &&
    !mine.some((id) => (run.request[`${id}.afterValley`] ?? run.request[`${id}.whenLeft`]) === "stop") && // stopping can shorten the trajectory
    trajectory(run) === trajectory(other)
  );
}

/** Everything that the trained weights depend on. */
function trajectory({ request }: PlannedRun): string {
  const isAveraging = (name: string): boolean => Object.hasOwn(followers, name.slice(0, name.indexOf(".")));
  const { averaging: _, protocol: __, fixed: ___, preprocessing: ____, ...rest } = request;
  return canonicalJson(Object.fromEntries(Object.entries(rest).filter(([name]) => !isAveraging(name))));
}

/** The number of finished runs and of started runs among some runs. */
export function existingRuns(folder: string, runs: readonly PlannedRun[]): { done: number; begun: number } {
  const paths = sweepPaths(folder);
  const there = new Set(existsSync(paths.runs) ? readdirSync(paths.runs) : []);
  const begun = runs.filter(({ name }) => there.has(name));
  const done = begun.filter(({ name }) => existsSync(join(paths.run(name), DONE_FILE))).length;
  return { done, begun: begun.length - done };
}
