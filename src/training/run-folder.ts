/**
 * The folder of a run: where its files are, which process may write them, and how it starts and resumes. One process at
 * a time owns it; the folder of a killed process is taken over immediately on the same machine, and after half a minute
 * without a sign of life on another machine.
 */

import { existsSync, linkSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import * as v from "valibot";
import { showText } from "../data/show-name.js";
import { DataError, UsageError } from "../errors.js";
import { appendWhole } from "../files/append-file.js";
import { FolderLock, type LockWatch, ownerOf } from "../files/folder-lock.js";
import { makeFolder } from "../files/make-folder.js";
import { lifeOf } from "../files/process-identity.js";
import { replaceFile } from "../files/replace-file.js";
import { requestSchema } from "../files/stored-json.js";
import { isObject, readJsonLines } from "../records/json-lines.js";
import { DONE_FILE, RECORDS_FILE, readSettings, SETTINGS_FILE } from "../records/run.js";
import { recordedRequest } from "../settings/preprocessing.js";
import type { TrainSettings } from "../settings/settings.js";
import type { Environment } from "./environment.js";

/** Another machine's lock is watched for so long: longer than a lock may stand still. */
const WATCH_MS = 45_000;

/** How long a killed process may take to give back its memory. */
const DYING_MS = 2_000;

export class RunFolder implements Disposable {
  /** Whether its settings were there when they were last looked for. */
  private begun = false;
  private lastReport = Number.NEGATIVE_INFINITY;

  private constructor(
    readonly path: string,
    private readonly lock: FolderLock,
  ) {}

  /** Opens a folder, which is made if need be, for this process alone. */
  static async own(path: string): Promise<RunFolder> {
    try {
      makeFolder(path);
    } catch (cause) {
      throw new DataError(`run folder ${path}: it could not be created: ${(cause as Error).message}`, { cause });
    }
    return new RunFolder(path, await takeLock(lockOf(path), path));
  }

  /** Opens a folder if no other process is at work on it, without waiting. A `watch` remembers how long another's lock stood still. */
  static tryOwn(path: string, watch?: LockWatch): RunFolder | undefined {
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
  /** The one before the last, for when the last is damaged. */
  get previousCheckpoint(): string {
    return this.file("checkpoint", "previous.safetensors");
  }
  /** Keeps the last checkpoint as the previous one; where the file system has no links, there is none. */
  keepLastCheckpoint(): void {
    rmSync(this.previousCheckpoint, { force: true });
    try {
      linkSync(this.lastCheckpoint, this.previousCheckpoint);
    } catch {
      // The first checkpoint has none before it.
    }
  }
  get bestCheckpoint(): string {
    return this.file("checkpoint", "best.safetensors");
  }
  get isDone(): boolean {
    return existsSync(this.file(DONE_FILE));
  }

  /** The files of models that are there: the one for use, and those of other averages. */
  models(): string[] {
    return readdirSync(this.path)
      .filter((name) => /^model(-.+)?\.safetensors$/.test(name))
      .map((name) => this.file(name));
  }

  /** Whether the run was begun: whoever owns it goes on. */
  get isBegun(): boolean {
    return existsSync(this.settings);
  }
  /** Whether no other process has taken over the folder. */
  get isOwned(): boolean {
    return this.lock.held;
  }

  /** Called before anything is renamed into place: a process that has lost the folder must not write any more. */
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

  /** Writes where the run is running, and keeps where it ran before. */
  writeEnvironment(now: Environment): void {
    const path = this.file("environment.json");
    let before: { resumed?: Environment[] } | undefined;
    try {
      before = JSON.parse(readFileSync(path, "utf8"));
    } catch {
      before = undefined; // not there yet, or of no use
    }
    this.writeJson("environment.json", before ? { ...before, resumed: [...(before.resumed ?? []), now] } : now);
  }

  log(line: string): void {
    const bytes = Buffer.from(`${new Date().toISOString()} ${showText(line)}\n`, "utf8");
    appendWhole(this.file("log.txt"), bytes, { what: "a line" });
  }

  timing(row: Readonly<Record<string, number>>): void {
    appendWhole(this.file("timing.jsonl"), Buffer.from(`${JSON.stringify(row)}\n`, "utf8"), { what: "a row" });
  }

  /** Drops the timings of steps after `step`, which the run makes again, and half a line that a kill left. */
  cutTiming(step: number): void {
    const path = this.file("timing.jsonl");
    if (!existsSync(path)) return;
    const kept = readJsonLines(path).lines.filter(({ value }) => isObject(value) && Number(value.step) <= step);
    this.checkOwner();
    replaceFile(path, (write) => write(Buffer.from(kept.map(({ text }) => `${text}\n`).join(""), "utf8")));
  }

  /** Removes what an undisturbed run would not have: the dump of a failure, and files that a killed process was writing. */
  sweep(): void {
    rmSync(this.file("failure"), { recursive: true, force: true });
    for (const folder of [this.path, this.file("checkpoint"), this.file("figures")]) {
      if (!existsSync(folder)) continue;
      const left = readdirSync(folder).filter((name) => name.startsWith(".") && name.endsWith(".tmp"));
      for (const name of left) rmSync(join(folder, name), { force: true });
    }
  }

  /** Tells those who look at the folder how far the run is; as long as the process lives, and now and then only. */
  progress(row: Progressing): void {
    const now = performance.now();
    if (now - this.lastReport < PROGRESS_MS) return;
    this.lastReport = now;
    this.lock.note(JSON.stringify(row));
  }

  /** Gives the folder back. */
  [Symbol.dispose](): void {
    if (this.isDone) this.lock.finish();
    else this.lock[Symbol.dispose]();
  }
}

/** How far a run is. */
export interface Progressing {
  /** Updates made, and updates in all. */
  readonly step: number;
  readonly steps: number;
  /** Seconds to go, as far as one can tell. */
  readonly left: number;
}

const PROGRESS_MS = 2_000;

/** Where the lock of a run's folder is. */
export const lockOf = (run: string): string => join(run, "lock");

/** The settings a run folder was begun with. */
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

/** A process that was killed just now may take a moment to be gone; one that is at work is there after that too. */
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
  waited.catch(() => {}); // also where it is called off
  try {
    return await Promise.race([taking, waited]);
  } finally {
    watch.abort();
  }
}
