/**
 * The folder of a run: the paths of its files, the lock of the process that writes to it, and how it starts and
 * resumes. One process at a time owns the folder. If a process was killed, another one can take over the folder
 * immediately on the same machine, and after half a minute without a sign of life on another machine.
 */

import { existsSync, linkSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import * as v from "valibot";
import { showLine } from "../data/show-name.js";
import { DataError, UsageError } from "../errors.js";
import { appendWhole } from "../files/append-file.js";
import { FolderLock, type LockWatch, ownerOf } from "../files/folder-lock.js";
import { makeFolder } from "../files/make-folder.js";
import { checkPlainFolder, readText } from "../files/open-file.js";
import { lifeOf } from "../files/process-identity.js";
import { replaceFile } from "../files/replace-file.js";
import { requestSchema } from "../files/stored-json.js";
import type { RunFacts } from "../records/facts.js";
import { isObject, readJsonLines } from "../records/json-lines.js";
import { DONE_FILE, RECORDS_FILE, readSettings, SETTINGS_FILE } from "../records/run.js";
import { recordedRequest } from "../settings/preprocessing.js";
import type { TrainSettings } from "../settings/settings.js";
import type { Environment } from "./environment.js";

/** How long another machine's lock is observed, which is longer than a live lock can stay unchanged. */
const WATCH_MS = 45_000;

/** How long a killed process may take to release its memory. */
const DYING_MS = 2_000;

export class RunFolder implements Disposable {
  /** Whether the settings existed when they were last checked. */
  private begun = false;
  private lastReport = Number.NEGATIVE_INFINITY;

  private constructor(
    readonly path: string,
    private readonly lock: FolderLock,
  ) {}

  /**
   * Opens a folder for exclusive use by this process, and creates it if it is missing. A folder with links, pipes or
   * devices is refused before anything is written.
   */
  static async own(path: string): Promise<RunFolder> {
    checkPlainFolder(path, "run folder");
    try {
      makeFolder(path);
    } catch (cause) {
      throw new DataError(`run folder ${path}: it could not be created: ${(cause as Error).message}`, { cause });
    }
    return new RunFolder(path, await takeLock(lockOf(path), path));
  }

  /**
   * Opens a folder if no other process uses it, without waiting. A `watch` remembers how long another process's lock
   * has not changed.
   */
  static tryOwn(path: string, watch?: LockWatch): RunFolder | undefined {
    checkPlainFolder(path, "run folder");
    makeFolder(path);
    const lock = FolderLock.tryTake(lockOf(path), watch);
    return lock && new RunFolder(path, lock);
  }

  readonly file = (...names: string[]): string => join(this.path, ...names);

  get settings(): string {
    return this.file(SETTINGS_FILE);
  }
  get records(): string {
    return this.file(RECORDS_FILE);
  }
  get lastCheckpoint(): string {
    return this.file("checkpoint", "last.safetensors");
  }
  /** The checkpoint before the last one, in case the last one is damaged. */
  get previousCheckpoint(): string {
    return this.file("checkpoint", "previous.safetensors");
  }
  /** Keeps the last checkpoint as the previous one. On file systems without links there is no previous one. */
  keepLastCheckpoint(): void {
    rmSync(this.previousCheckpoint, { force: true });
    try {
      linkSync(this.lastCheckpoint, this.previousCheckpoint);
    } catch {
      // There is no checkpoint before the first one.
    }
  }
  get bestCheckpoint(): string {
    return this.file("checkpoint", "best.safetensors");
  }
  get isDone(): boolean {
    return existsSync(this.file(DONE_FILE));
  }

  /** Whether the run has started, so that its owner resumes it. */
  get isBegun(): boolean {
    return existsSync(this.settings);
  }
  /** Whether no other process has taken over the folder. */
  get isOwned(): boolean {
    return this.lock.held;
  }

  /** Called before a file is renamed into place: a process that has lost the folder must not write to it. */
  checkOwner(): void {
    if (!existsSync(this.path))
      throw new DataError(
        `run folder ${this.path}: it was deleted while the run was writing to it, so the run stops here`,
      );
    if (!this.isOwned) {
      // A folder is deleted file by file: its lock may go before the rest. A process that took it over and is done leaves no lock either.
      const isTaken = this.isDone || ownerOf(lockOf(this.path)) !== undefined;
      throw new DataError(
        isTaken
          ? `run folder ${this.path}: another process has taken it over, so this one stops here`
          : `${lockOf(this.path)}: it was deleted while the run was writing to its folder, so the run stops here`,
      );
    }
    if (this.begun && !this.isBegun)
      throw new DataError(
        `${this.settings}: the file was deleted while the run was running. The run stops; put the file back and resume, or start the run again`,
      );
    this.begun = this.isBegun;
  }

  writeJson(name: string, value: unknown): void {
    this.checkOwner();
    replaceFile(this.file(name), (write) => write(Buffer.from(`${JSON.stringify(value, null, 2)}\n`, "utf8")));
  }

  /** Records where the run is running, and keeps the earlier environments. */
  writeEnvironment(now: Environment): void {
    const path = this.file("environment.json");
    let before: { resumed?: Environment[] } | undefined;
    try {
      before = JSON.parse(readText(path));
    } catch {
      before = undefined; // missing or invalid
    }
    this.writeJson("environment.json", before ? { ...before, resumed: [...(before.resumed ?? []), now] } : now);
  }

  log(line: string): void {
    const bytes = Buffer.from(`${new Date().toISOString()} ${showLine(line)}\n`, "utf8");
    appendWhole(this.file("log.txt"), bytes, { what: "a line" });
  }

  timing(row: Readonly<Record<string, number>>): void {
    appendWhole(this.file("timing.jsonl"), Buffer.from(`${JSON.stringify(row)}\n`, "utf8"), { what: "a row" });
  }

  /** Removes the timings of steps after `step`, which the run repeats, and a partial line after a kill. */
  cutTiming(step: number): void {
    const path = this.file("timing.jsonl");
    if (!existsSync(path)) return;
    const kept = readJsonLines(path).lines.filter(({ value }) => isObject(value) && Number(value.step) <= step);
    this.checkOwner();
    replaceFile(path, (write) => write(Buffer.from(kept.map(({ text }) => `${text}\n`).join(""), "utf8")));
  }

  /**
   * Removes the dump of a failure and temporary files of a killed process, which an uninterrupted run would not have.
   */
  sweep(): void {
    rmSync(this.file("failure"), { recursive: true, force: true });
    for (const folder of [this.path, this.file("checkpoint"), this.file("figures")]) {
      if (!existsSync(folder)) continue;
      const left = readdirSync(folder).filter((name) => name.startsWith(".") && name.endsWith(".tmp"));
      for (const name of left) rmSync(join(folder, name), { force: true });
    }
  }

  /** Publishes the progress of the run for observers of the folder, at most every two seconds. */
  progress(row: Progressing): void {
    const now = performance.now();
    if (now - this.lastReport < PROGRESS_MS) return;
    this.lastReport = now;
    this.lock.note(JSON.stringify(row));
  }

  /** Releases the folder. */
  [Symbol.dispose](): void {
    if (this.isDone) this.lock.finish();
    else this.lock[Symbol.dispose]();
  }
}

/** The progress of a run. */
export interface Progressing {
  /** The number of completed updates, and the total number. */
  readonly step: number;
  readonly steps: number;
  /** The estimated remaining time in seconds. */
  readonly left: number;
}

const PROGRESS_MS = 2_000;

/** Returns the path of the lock of a run folder. */
export const lockOf = (run: string): string => join(run, "lock");

/** Reads the settings with which a run was started. */
export function readTrainSettings(folder: string): TrainSettings {
  if (!existsSync(join(folder, SETTINGS_FILE)))
    throw new UsageError(
      `${folder}: this folder has no run to resume (no ${SETTINGS_FILE}). Use a folder that nudge train created`,
    );
  const settings = readSettings(join(folder, SETTINGS_FILE)) as TrainSettings;
  if (settings.format !== 1 || !v.is(requestSchema, settings.request))
    throw new DataError(`${join(folder, SETTINGS_FILE)}: the run cannot be resumed: its settings have no "request"`);
  return { ...settings, request: recordedRequest(settings.request) };
}

/** The facts of the run in a folder; undefined if there is none, or if an earlier version began it. */
export function factsAt(folder: string): RunFacts | undefined {
  const path = join(folder, SETTINGS_FILE);
  return existsSync(path) ? readSettings(path).facts : undefined;
}

/** Retries for a short time, because a process that was just killed may still exist. */
async function takeLock(lock: string, run: string): Promise<FolderLock> {
  for (const until = performance.now() + DYING_MS; ; await sleep(100)) {
    try {
      return await tryLock(lock, run);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== undefined)
        throw new DataError(`run folder ${run}: it could not be locked: ${(error as Error).message}`, { cause: error });
      if (!(error instanceof UsageError) || performance.now() > until) throw error;
    }
  }
}

async function tryLock(lock: string, run: string): Promise<FolderLock> {
  const refused = (who: string): UsageError =>
    new UsageError(`run folder ${run}: ${who} is using it. Wait until that process has ended, or stop it first`);
  let elsewhere = "another process";
  const taking = FolderLock.take(lock, {
    onWait: (owner) => {
      if (owner && lifeOf(owner) === "alive") throw refused(`process ${owner.pid}`);
      if (owner) elsewhere = `process ${owner.pid} on ${owner.host}`;
    },
  });
  const watch = new AbortController();
  const waited = sleep(WATCH_MS, undefined, { signal: watch.signal }).then(() => {
    taking.then((late) => late[Symbol.dispose]()).catch(() => {});
    throw refused(elsewhere);
  });
  waited.catch(() => {}); // also if it is aborted
  try {
    return await Promise.race([taking, waited]);
  } finally {
    watch.abort();
  }
}
