/**
 * The attempts to execute a run: `attempts/<id>.json`, written by the process that holds the run's claim. An attempt is
 * recorded before it starts and removed when it ends normally, so that the next process knows of an attempt that ended
 * without a message (a kill, no memory, a crash, a power cut). Such attempts count only while the run makes no
 * progress, because machines may be reclaimed often; errors always count.
 */

import { rmSync, statSync } from "node:fs";
import { join } from "node:path";
import * as v from "valibot";
import { makeFolder } from "../files/make-folder.js";
import { thisProcess } from "../files/process-identity.js";
import { replaceFile } from "../files/replace-file.js";
import { filesOf, type StoredFiles } from "../files/stored-files.js";
import { parseIfFits, type Schema, wholeSchema } from "../files/stored-json.js";
import { RECORDS_FILE, RETRAINED } from "../records/run.js";
import { ATTEMPTS, sweepPaths } from "./sweep-folder.js";

/** The last problem of a run. */
export interface RunProblem {
  /** One line. */
  readonly error: string;
  /** All of it: a stack, for instance. */
  readonly details: string | null;
  readonly host: string;
  /** By that machine's clock; for people. */
  readonly at: string;
}

export interface Attempts {
  readonly format: 1;
  /** The number of attempts that ended with an error. */
  readonly errors: number;
  /** The number of consecutive attempts that ended without a message and without progress. */
  readonly lost: number;
  /** The last attempt, if it has not ended normally: where it ran, and how many bytes of records there were. */
  readonly open: { readonly host: string; readonly pid: number; readonly records: number } | null;
  readonly last: RunProblem | null;
  /** The decision: the run is not tried again, because it failed or was stopped early. */
  readonly verdict: "failed" | "hopeless" | null;
}

export const NO_ATTEMPTS: Attempts = { format: 1, errors: 0, lost: 0, open: null, last: null, verdict: null };

/**
 * This many consecutive attempts may end without a message and without progress, in addition to the retries after
 * errors.
 */
export const MOST_LOST = 5;

/** Reads the attempts of a run; an unreadable file counts as none. */
export function readAttempts(place: string | StoredFiles, id: string): Attempts {
  try {
    return parseIfFits(attemptsSchema, filesOf(place).text(`${ATTEMPTS}/${id}.json`)) ?? NO_ATTEMPTS;
  } catch {
    return NO_ATTEMPTS; // the disk did not respond
  }
}

const textOrNone = v.nullable(v.string());

const attemptsSchema: Schema<Attempts> = v.object({
  format: v.literal(1),
  errors: v.optional(wholeSchema, 0),
  lost: v.optional(wholeSchema, 0),
  open: v.nullish(v.object({ host: v.string(), pid: v.number(), records: v.number() }), null),
  last: v.nullish(v.object({ error: v.string(), details: textOrNone, host: v.string(), at: v.string() }), null),
  verdict: v.nullish(v.picklist(["failed", "hopeless"]), null),
});

/** The ids of runs with recorded attempts. */
export function idsWithAttempts(place: string | StoredFiles): Set<string> {
  const names = filesOf(place).names(ATTEMPTS);
  return new Set(names.flatMap((name) => (/^[0-9a-f]{16}\.json$/.test(name) ? [name.slice(0, 16)] : [])));
}

/** The ids of runs that have failed permanently. */
export function failedRuns(folder: string): string[] {
  return [...idsWithAttempts(folder)].filter((id) => readAttempts(folder, id).verdict === "failed");
}

/** Deletes the recorded attempts of a run. */
export function forgetAttempts(folder: string, id: string): void {
  rmSync(sweepPaths(folder).attempt(id), { force: true });
}

function write(folder: string, id: string, attempts: Attempts): Attempts {
  makeFolder(sweepPaths(folder).attempts);
  replaceFile(sweepPaths(folder).attempt(id), (put) => put(Buffer.from(`${JSON.stringify(attempts, null, 2)}\n`)));
  return attempts;
}

/** The bytes of a run's records, also of those of its second training. */
const recordBytes = (run: string): number =>
  [run, join(run, RETRAINED)].reduce(
    (sum, folder) => sum + (statSync(join(folder, RECORDS_FILE), { throwIfNoEntry: false })?.size ?? 0),
    0,
  );

const problem = (error: string, details: string | null, host = thisProcess().host): RunProblem => ({
  error,
  details,
  host,
  at: new Date().toISOString(),
});

/**
 * Records an attempt that is about to start, and counts the one before if it ended without a message. `run` is the run
 * folder.
 */
export function beginAttempt(folder: string, id: string, run: string, retries: number): Attempts {
  const before = readAttempts(folder, id);
  const { host, pid } = thisProcess();
  const records = recordBytes(run);
  const lost = before.open === null ? 0 : records > before.open.records ? 1 : before.lost + 1;
  const silent = before.open && `process ${before.open.pid} on ${before.open.host} ended without a message`;
  const last = silent ? problem(`${silent}: killed, out of memory, or crashed`, null, before.open?.host) : before.last;
  if (lost >= MOST_LOST + retries) return write(folder, id, { ...before, lost, last, open: null, verdict: "failed" });
  return write(folder, id, { ...before, lost, last, open: { host, pid, records }, verdict: null });
}

/** Removes an attempt that ended normally: the run is done, or was asked to stop. */
export function endAttempt(folder: string, id: string): void {
  const { errors, last } = readAttempts(folder, id);
  if (errors === 0) forgetAttempts(folder, id);
  else write(folder, id, { ...NO_ATTEMPTS, errors, last });
}

/** Counts an attempt that ended with an error; after `retries` more, the run has failed. */
export function failAttempt(folder: string, id: string, error: unknown, retries: number): Attempts {
  const { errors, ...rest } = readAttempts(folder, id);
  const last = problem(firstLine(error), error instanceof Error ? (error.stack ?? null) : String(error));
  const verdict = errors + 1 > retries ? "failed" : null;
  return write(folder, id, { ...rest, errors: errors + 1, lost: 0, open: null, last, verdict });
}

/** Records that a run was stopped early, and why. */
export function giveUp(folder: string, id: string, why: string): void {
  const before = readAttempts(folder, id);
  write(folder, id, { ...before, open: null, last: problem(why, null), verdict: "hopeless" });
}

const firstLine = (error: unknown): string => {
  const text = error instanceof Error ? error.message : String(error);
  return text.trim().split("\n")[0] || "an error without a message";
};
