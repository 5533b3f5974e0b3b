/**
 * What became of the tries of a run: `attempts/<id>.json`, written by whoever has the run's claim. A try is entered before
 * it begins and struck out when it ends in order, so that one that ended without a word (a kill, no memory, a crash, a power
 * cut) is known to the next. Those count only while the run gets no further, since machines may be taken away often; errors
 * always count.
 */

import { rmSync, statSync } from "node:fs";
import { join } from "node:path";
import * as v from "valibot";
import { makeFolder } from "../files/make-folder.js";
import { thisProcess } from "../files/process-identity.js";
import { replaceFile } from "../files/replace-file.js";
import { filesOf, type StoredFiles } from "../files/stored-files.js";
import { parseIfFits, type Schema, wholeSchema } from "../files/stored-json.js";
import { RECORDS_FILE } from "../records/run.js";
import { ATTEMPTS, sweepPaths } from "./sweep-folder.js";

/** The last that went wrong with a run. */
export interface Mishap {
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
  /** Tries that ended with an error. */
  readonly errors: number;
  /** Tries in a row that ended without a word and got no further. */
  readonly lost: number;
  /** The try that was begun last, if it has not ended in order: where, and how many bytes of records there were. */
  readonly open: { readonly host: string; readonly pid: number; readonly records: number } | null;
  readonly last: Mishap | null;
  /** What was decided: not to be tried again, because it failed or because it was hopeless. */
  readonly verdict: "failed" | "hopeless" | null;
}

export const NO_ATTEMPTS: Attempts = { format: 1, errors: 0, lost: 0, open: null, last: null, verdict: null };

/** So many tries in a row may end without a word and without getting further, and as many more as a run has after errors. */
export const MOST_LOST = 5;

/** Reads what is known of a run's tries; a file that cannot be read tells nothing. */
export function readAttempts(place: string | StoredFiles, id: string): Attempts {
  try {
    return parseIfFits(attemptsSchema, filesOf(place).text(`${ATTEMPTS}/${id}.json`)) ?? NO_ATTEMPTS;
  } catch {
    return NO_ATTEMPTS; // the disk did not answer
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

/** The ids of runs of which something is known. */
export function idsWithAttempts(place: string | StoredFiles): Set<string> {
  const names = filesOf(place).names(ATTEMPTS);
  return new Set(names.flatMap((name) => (/^[0-9a-f]{16}\.json$/.test(name) ? [name.slice(0, 16)] : [])));
}

/** The ids of runs that have failed for good. */
export function failedRuns(folder: string): string[] {
  return [...idsWithAttempts(folder)].filter((id) => readAttempts(folder, id).verdict === "failed");
}

/** Forgets what is known of a run's tries. */
export function forgetAttempts(folder: string, id: string): void {
  rmSync(sweepPaths(folder).attempt(id), { force: true });
}

function write(folder: string, id: string, attempts: Attempts): Attempts {
  makeFolder(sweepPaths(folder).attempts);
  replaceFile(sweepPaths(folder).attempt(id), (put) => put(Buffer.from(`${JSON.stringify(attempts, null, 2)}\n`)));
  return attempts;
}

const recordBytes = (run: string): number => statSync(join(run, RECORDS_FILE), { throwIfNoEntry: false })?.size ?? 0;

const mishap = (error: string, details: string | null, host = thisProcess().host): Mishap => ({
  error,
  details,
  host,
  at: new Date().toISOString(),
});

/** Enters a try that is about to begin, and counts the one before if that ended without a word. `run` is the run's folder. */
export function beginAttempt(folder: string, id: string, run: string, retries: number): Attempts {
  const before = readAttempts(folder, id);
  const { host, pid } = thisProcess();
  const records = recordBytes(run);
  const lost = before.open === null ? 0 : records > before.open.records ? 1 : before.lost + 1;
  const silent = before.open && `process ${before.open.pid} on ${before.open.host} ended without a word`;
  const last = silent ? mishap(`${silent}: killed, out of memory, or crashed`, null, before.open?.host) : before.last;
  if (lost >= MOST_LOST + retries) return write(folder, id, { ...before, lost, last, open: null, verdict: "failed" });
  return write(folder, id, { ...before, lost, last, open: { host, pid, records }, verdict: null });
}

/** Strikes out a try that ended in order: the run is done, or was asked to stop. */
export function endAttempt(folder: string, id: string): void {
  const { errors, last } = readAttempts(folder, id);
  if (errors === 0) forgetAttempts(folder, id);
  else write(folder, id, { ...NO_ATTEMPTS, errors, last });
}

/** Counts a try that ended with an error; after `retries` more, the run has failed. */
export function failAttempt(folder: string, id: string, error: unknown, retries: number): Attempts {
  const { errors, ...rest } = readAttempts(folder, id);
  const last = mishap(firstLine(error), error instanceof Error ? (error.stack ?? null) : String(error));
  const verdict = errors + 1 > retries ? "failed" : null;
  return write(folder, id, { ...rest, errors: errors + 1, lost: 0, open: null, last, verdict });
}

/** Notes that a run is not worth going on with, and why. */
export function giveUp(folder: string, id: string, why: string): void {
  const before = readAttempts(folder, id);
  write(folder, id, { ...before, open: null, last: mishap(why, null), verdict: "hopeless" });
}

const firstLine = (error: unknown): string => {
  const text = error instanceof Error ? error.message : String(error);
  return text.trim().split("\n")[0] || "an error without a message";
};
