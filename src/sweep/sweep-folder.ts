/**
 * The folder of a sweep: its plan, and the paths of its files. Planning writes `sweep.json` and `plan.jsonl`, each completely or
 * not at all. Executing reads them and works in `runs/`, with one ordinary run folder of `nudge train` per line of the plan.
 *
 *     DIR/sweep.json           the requests, the protocol, the number of runs
 *     DIR/plan.jsonl           one line per run, in the order of execution
 *     DIR/runs/<name>/         settings.json, records.jsonl, done, …; also soups and ensembles of the runs
 *     DIR/attempts/<id>.json   failures and attempts of a run
 *     DIR/launch/              the files of launchers
 *
 * The files may come from another machine, so they are checked. An incomplete or invalid plan is rejected, because its sweep
 * would look finished when it is not.
 */

import { existsSync } from "node:fs";
import { join } from "node:path";
import * as v from "valibot";
import { DataError, UsageError } from "../errors.js";
import { makeFolder } from "../files/make-folder.js";
import { checkPlainFolder } from "../files/open-file.js";
import { replaceFile } from "../files/replace-file.js";
import { filesOf, type StoredFiles, textLines } from "../files/stored-files.js";
import { parseStored, requestSchema, type Schema, textsSchema, wholeSchema } from "../files/stored-json.js";
import type { SettingScalar } from "../records/run.js";
import { type CombinationKind, combinationKinds } from "./combination-kinds.js";

/** The request for a run, as `nudge train` reads it: every setting that changes results, and paths only if they were given. */
export type RunRequest = Readonly<Record<string, SettingScalar | readonly string[]>>;

/** One run of a plan. */
export interface PlannedRun {
  /** 16 hexadecimal digits: the hash of the run's settings, with which `name` begins. */
  readonly id: string;
  /** The name of its folder in `runs`. */
  readonly name: string;
  /** The id of its dataset; absent in plans of earlier versions. */
  readonly dataset?: string;
  /** For people: `pacs · sketch held out · ERM-NU · trial 0`. */
  readonly title: string;
  /** The estimated seconds on the machine that measured; absent if nothing was measured. */
  readonly cost?: number;
  /** The name of the same job in DomainBed, if that was requested. */
  readonly referenceJob?: string;
  /** A short text that runs on the same samples with the same code share; absent in plans of earlier versions. */
  readonly facts?: string;
  readonly request: RunRequest;
}

/** The content of `sweep.json`. */
export interface SweepFile {
  readonly format: 1;
  readonly name: string;
  /** The protocol of the runs, as sentences. */
  readonly protocol: readonly string[];
  /** The requests: one entry for each time the plan was created or extended. */
  readonly requests: readonly unknown[];
  /** The number of runs in `plan.jsonl`. */
  readonly runs: number;
  /** The planned trials, by dataset as given. Reports use them to list missing runs. */
  readonly trials?: Readonly<Record<string, readonly number[]>>;
  /** The combinations of the runs of a method within a trial; absent if there are none. */
  readonly combine?: readonly CombinationKind[];
  /** The paths of the plug-ins with which it was planned; absent if there were none. */
  readonly plugins?: readonly string[];
  /** The models that stay on disk (kept-models.ts); absent for all. */
  readonly models?: "all" | "chosen" | "none";
}

export const SWEEP_FILE = "sweep.json";
export const PLAN_FILE = "plan.jsonl";
/** The lock of the process that changes the plan. */
export const PLAN_LOCK = ".plan-lock";
/** The folder of recorded attempts. */
export const ATTEMPTS = "attempts";
/** The folder of marks of cancelled runs. */
export const CANCELLED = "launch/cancelled";

/** The paths in a sweep folder. */
export const sweepPaths = (folder: string) =>
  ({
    sweep: join(folder, SWEEP_FILE),
    plan: join(folder, PLAN_FILE),
    runs: join(folder, "runs"),
    run: (name: string) => join(folder, "runs", name),
    attempts: join(folder, ATTEMPTS),
    attempt: (id: string) => join(folder, ATTEMPTS, `${id}.json`),
    launch: join(folder, "launch"),
  }) as const;

/**
 * Throws an error if a sweep folder has links, pipes or devices where files are written. The folder itself may be a link;
 * the folders of its runs are checked when they are opened.
 */
export function checkSweepPlaces(folder: string): void {
  const { runs, attempts, launch } = sweepPaths(folder);
  checkPlainFolder(runs, "the runs of a sweep", 0);
  for (const place of [attempts, launch, join(folder, PLAN_LOCK)]) checkPlainFolder(place, "sweep folder");
}

/** Whether a folder contains a sweep. */
export const isSweepFolder = (folder: string): boolean => existsSync(sweepPaths(folder).sweep);

/** Writes a plan. The runs are written before the file with their number, so that a reader never finds fewer runs than that number. */
export function writePlan(folder: string, sweep: Omit<SweepFile, "format" | "runs">, runs: Iterable<PlannedRun>): void {
  try {
    makeFolder(folder);
  } catch (cause) {
    throw new DataError(`sweep folder ${folder}: it could not be made: ${(cause as Error).message}`, { cause });
  }
  let count = 0;
  const trials = new Map<string, Set<number>>();
  replaceFile(sweepPaths(folder).plan, (write) => {
    let text = "";
    for (const run of runs) {
      text += `${JSON.stringify(inOrder(run))}\n`;
      const { data, trialSeed } = run.request;
      if (typeof data === "string" && typeof trialSeed === "number")
        trials.set(data, (trials.get(data) ?? new Set()).add(trialSeed));
      if (++count % LINES_A_WRITE !== 0) continue;
      write(Buffer.from(text, "utf8"));
      text = "";
    }
    write(Buffer.from(text, "utf8"));
  });
  const sorted = Array.from(trials, ([data, seeds]) => [data, [...seeds].sort((a, b) => a - b)]);
  writeSweepFile(folder, { ...sweep, runs: count, trials: Object.fromEntries(sorted) });
}

/** Writes `sweep.json` for a plan whose runs are written. */
export function writeSweepFile(folder: string, sweep: Omit<SweepFile, "format">): void {
  const { name, protocol, requests, runs, trials, combine, models = "all", plugins } = sweep;
  const file: SweepFile = {
    ...{ format: 1, name, protocol, requests, runs },
    ...(trials && { trials }),
    ...(combine?.length && { combine }),
    ...(models !== "all" && { models }),
    ...(plugins?.length && { plugins }),
  };
  const bytes = Buffer.from(`${JSON.stringify(file, null, 2)}\n`, "utf8");
  replaceFile(sweepPaths(folder).sweep, (write) => write(bytes));
}

const LINES_A_WRITE = 1024;

/** The fields in a fixed order, so that equal plans have equal bytes. */
const inOrder = ({ id, name, dataset, title, cost, referenceJob, facts, request }: PlannedRun): PlannedRun => ({
  id,
  name,
  ...(dataset === undefined ? {} : { dataset }),
  title,
  ...(cost === undefined ? {} : { cost }),
  ...(referenceJob === undefined ? {} : { referenceJob }),
  ...(facts === undefined ? {} : { facts }),
  request,
});

/** Reads `sweep.json`. */
export function readSweepFile(place: string | StoredFiles): SweepFile {
  const files = filesOf(place);
  const path = join(files.path, SWEEP_FILE);
  const text = files.text(SWEEP_FILE);
  if (text === undefined && files.path.endsWith(".nudge"))
    throw new UsageError(
      `${files.path}: this is a packed study. To resume the sweep, unpack it first: nudge unpack --help`,
    );
  if (text === undefined && !existsSync(files.path))
    throw new UsageError(
      `there is no folder ${files.path}. Use a folder that nudge sweep plan created, or create one: nudge sweep plan --help`,
    );
  if (text === undefined)
    throw new UsageError(
      `${files.path}: this folder has no sweep (no ${SWEEP_FILE}). Use a folder that nudge sweep plan created, or create one: nudge sweep plan --help`,
    );
  return parseStored(sweepSchema, text, { path, what: "the sweep", remedy: "Plan the sweep again" });
}

const sweepSchema: Schema<SweepFile> = v.looseObject({
  format: v.literal(1, "1"),
  name: v.string("a text"),
  protocol: textsSchema,
  requests: v.array(v.unknown(), "a list"),
  runs: wholeSchema,
  combine: v.optional(v.array(v.picklist(combinationKinds, combinationKinds.join(", ")), "a list")),
  plugins: v.optional(textsSchema),
  models: v.optional(v.picklist(["all", "chosen", "none"], "all, chosen or none")),
  trials: v.optional(v.record(v.string(), v.array(wholeSchema, "seeds"), "seeds by dataset")),
});

/** All runs of a plan. */
export function readPlan(folder: string): PlannedRun[] {
  return [...planLines(folder)];
}

/**
 * The runs of a plan one by one, for readers that keep only a small part of each. An invalid line throws an error when the reader reaches
 * it, and a truncated plan throws one at the end.
 */
export function* planLines(place: string | StoredFiles): Generator<PlannedRun> {
  const files = filesOf(place);
  const { runs } = readSweepFile(files);
  let count = 0;
  for (const run of plannedRuns(files)) {
    count++;
    yield run;
  }
  // There are more runs if the plan was extended and sweep.json is not replaced yet.
  if (count < runs)
    throw new DataError(
      `${join(files.path, PLAN_FILE)}: ${runs} runs were planned, but the file contains only ${count}: it is truncated. Plan the sweep again with the same options; existing runs are kept`,
    );
}

/** The runs of a plan whose `sweep.json` may be missing, for example after a kill between the two writes; none if there is no plan. */
export function uncountedPlan(folder: string): Iterable<PlannedRun> {
  if (isSweepFolder(folder)) return planLines(folder);
  const files = filesOf(folder);
  return files.has(PLAN_FILE) ? plannedRuns(files) : [];
}

function* plannedRuns(files: StoredFiles): Generator<PlannedRun> {
  const path = join(files.path, PLAN_FILE);
  const pieces = files.pieces(PLAN_FILE);
  if (!pieces) throw new DataError(`${path}: the plan is missing. Plan the sweep again with the same options`);
  const seen = new Set<string>();
  let number = 0;
  const torn = (): never => {
    throw new DataError(`${path}: the last line is incomplete. Plan the sweep again with the same options`);
  };
  for (const text of textLines(pieces, torn, path)) {
    number++;
    const run = toPlannedRun(path, number, text);
    if (seen.has(run.id)) throw new DataError(`${path}: line ${number} has run ${run.id}, which an earlier line has`);
    seen.add(run.id);
    yield run;
  }
}

const ID = "16 hexadecimal digits";
const NAME = 'its id and further letters, digits, "_", ".", "+" and "-"';

const plannedSchema: Schema<PlannedRun> = v.pipe(
  v.looseObject({
    id: v.pipe(v.string(ID), v.regex(/^[0-9a-f]{16}$/, ID)),
    name: v.pipe(v.string(NAME), v.regex(/^[\w.+-]+$/, NAME)), // it becomes a folder name, so it must not contain a path
    dataset: v.optional(v.string("an id")),
    title: v.string("a text"),
    cost: v.optional(v.pipe(v.number("seconds"), v.finite("seconds"), v.minValue(0, "seconds"))),
    referenceJob: v.optional(v.string("a text")),
    facts: v.optional(v.string("a text")),
    request: requestSchema,
  }),
  v.forward(
    v.check(({ id, name }) => name.startsWith(id), NAME),
    ["name"],
  ),
);

const toPlannedRun = (path: string, number: number, text: string): PlannedRun =>
  parseStored(plannedSchema, text, { path: `${path}: line ${number}`, what: "a planned run" });
