/**
 * A lock on disk that lets one process at a time do some work, even if several machines share the disk. A lock that a
 * killed process left is taken over.
 *
 *     lock/now/owner.json      the owner
 *     lock/now/beat-<token>    a counter that increases while the owner is alive
 *     lock/<token>/            an earlier `now`
 *
 * The protocol uses only renames, each with the token of one ownership. To take the lock, a process renames a folder
 * with its owner.json to `now`, which fails if `now` exists. To end an ownership, the owner or a process that considers
 * it dead renames `now` to the token of that owner, which fails if this was done before. So a process with outdated
 * knowledge can never remove the lock of the next owner. This is why earlier folders are kept until the work is
 * finished.
 *
 * An owner is dead if its process was on this machine and has ended, or if its counter has not changed for a while by
 * our own clock (clocks of two machines are not compared). An owner that was suspended for that long finds another
 * token in the folder and must stop: check `held` before every rename.
 */
import { randomUUID } from "node:crypto";
import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { startBeat, stopBeat } from "./heartbeat.js";
import { openToReplace, readText, writeText } from "./open-file.js";
import { lifeOf, type ProcessIdentity, thisProcess } from "./process-identity.js";
import { syncFolder } from "./sync-folder.js";

/** The owner of a lock. */
export interface LockOwner extends ProcessIdentity {
  readonly token: string;
}

export interface LockOptions {
  /** Called once if another process has the lock. */
  onWait?: (owner: LockOwner | undefined) => void;
  /** Milliseconds after which a lock whose counter does not change counts as abandoned. */
  stillFor?: number;
  /** Milliseconds between two checks of another process's lock. */
  poll?: number;
}

/** The default time in milliseconds for which a counter may stay unchanged. */
export const STILL_MS = 30_000;

/** How many times a process that removes the lock of a dead owner may find a new owner. */
const TRIES = 5;

/** A lock that this process holds. */
export class FolderLock implements Disposable {
  private given = false;

  private constructor(
    private readonly folder: string,
    private readonly token: string,
    stillFor: number,
  ) {
    startBeat(this.own("beat"), stillFor / 6);
  }

  /** Takes the lock; waits if another process has it. The parent folder must exist. */
  static async take(folder: string, options: LockOptions = {}): Promise<FolderLock> {
    const { onWait, stillFor = STILL_MS, poll = 100 } = options;
    const watch = new LockWatch(folder, stillFor);
    for (let notified = false; ; ) {
      const lock = FolderLock.tryTake(folder, watch);
      if (lock) return lock;
      if (!notified) onWait?.(ownerOf(folder));
      notified = true;
      await sleep(poll);
    }
  }

  /**
   * Takes the lock without waiting if it is free or its owner is dead. `watch` remembers when the counter last changed.
   */
  static tryTake(folder: string, watch = new LockWatch(folder)): FolderLock | undefined {
    const token = randomUUID();
    for (let tries = 0; tries < TRIES; tries++) {
      if (take(folder, token)) return new FolderLock(folder, token, watch.stillFor);
      const owner = watch.deadOwner();
      if (owner === undefined) return undefined;
      endOwnership(folder, owner.token);
    }
    return undefined; // other processes were faster each time
  }

  /** Whether this process still holds the lock. */
  get held(): boolean {
    try {
      readdirSync(this.folder); // network file systems refresh the names in a folder when it is opened
    } catch {
      return false;
    }
    return ownerOf(this.folder)?.token === this.token;
  }

  /** Writes a note for processes that look at the lock. It is removed with the lock. */
  note(text: string): void {
    try {
      writeText(this.own("note"), text);
    } catch {
      // The lock was taken over, which `held` reports. A missing note is not an error.
    }
  }

  /** Marks the work as finished: removes the lock and the earlier folders, so that no late process can act on them. */
  finish(): void {
    if (this.given) return;
    this[Symbol.dispose]();
    remove(this.folder);
  }

  /** Releases the lock. */
  [Symbol.dispose](): void {
    if (this.given) return;
    this.given = true;
    stopBeat(this.own("beat"));
    try {
      if (this.held) endOwnership(this.folder, this.token); // unless somebody removed the whole folder by hand
    } catch {
      // The disk cannot be written. The lock is abandoned, and another process will take it over.
    }
  }

  private own(name: "beat" | "note"): string {
    return join(this.folder, NOW, `${name}-${this.token}`);
  }
}

/** Checks a lock repeatedly and determines whether its owner is dead. */
export class LockWatch {
  private seen = "";
  private since = performance.now();
  /** The number of observed changes of the counter. */
  private beats = 0;

  constructor(
    private readonly folder: string,
    readonly stillFor: number = STILL_MS,
  ) {}

  /** The owner, if there is one and it is dead. */
  deadOwner(): Pick<LockOwner, "token"> | undefined {
    const owner = ownerOf(this.folder);
    if (owner && lifeOf(owner) === "gone") return owner;
    return owner ? this.still(owner) : this.still(this.unreadable());
  }

  private still<T extends { readonly token: string }>(owner: T | undefined): T | undefined {
    if (owner === undefined) return undefined;
    const sight = `${owner.token} ${read(join(this.folder, NOW, `beat-${owner.token}`))}`;
    if (sight !== this.seen) {
      this.beats = this.seen.startsWith(owner.token) ? this.beats + 1 : 0;
      [this.seen, this.since] = [sight, performance.now()];
    }
    return performance.now() - this.since > this.stillFor ? owner : undefined;
  }

  /**
   * Whether the owner is certainly alive: a process on this machine, or one whose counter has increased since the first
   * check.
   */
  get alive(): boolean {
    const owner = ownerOf(this.folder);
    if (owner === undefined) return false;
    return lifeOf(owner) === "alive" || (this.beats > 0 && this.seen.startsWith(owner.token));
  }

  /** The inode of a lock's folder, for a lock whose owner cannot be read, for example after a power failure. */
  private unreadable(): { token: string } | undefined {
    const found = statSync(join(this.folder, NOW), { throwIfNoEntry: false });
    return found && { token: `unreadable-${found.ino}` };
  }
}

/** The owner of a lock; undefined if there is none. */
export function ownerOf(folder: string): LockOwner | undefined {
  const text = read(join(folder, NOW, OWNER_FILE));
  if (text === undefined) return undefined;
  try {
    const owner = JSON.parse(text) as LockOwner;
    const isName = typeof owner.token === "string" && /^[\w-]+$/.test(owner.token); // becomes the lock of a folder
    return isName ? owner : undefined;
  } catch {
    return undefined;
  }
}

/** The note of a lock's owner. */
export function noteOf(folder: string, { token }: LockOwner): string | undefined {
  return read(join(folder, NOW, `note-${token}`));
}

/** The time at which the note was last written, in milliseconds by the clock of the disk. */
export function noteTime(folder: string, { token }: LockOwner): number | undefined {
  return statSync(join(folder, NOW, `note-${token}`), { throwIfNoEntry: false })?.mtimeMs;
}

const NOW = "now";
const OWNER_FILE = "owner.json";

/** The largest file of a lock that is read, in bytes. */
const MOST_NOTE = 1 << 20;

function read(path: string): string | undefined {
  try {
    return readText(path, { most: MOST_NOTE, links: false });
  } catch {
    return undefined;
  }
}

const codeOf = (error: unknown): string | undefined => (error as NodeJS.ErrnoException).code;

/** Creates the lock if there is none. A folder can be renamed to an unused name or to the name of an empty folder. */
function take(folder: string, token: string): boolean {
  if (ownerOf(folder) !== undefined) return false;
  const owner: LockOwner = { ...thisProcess(), token };
  const ready = join(folder, `new-${token}`);
  makeFolder(folder);
  try {
    mkdirSync(ready);
    writeText(join(ready, `beat-${token}`), "0");
    writeSynced(join(ready, OWNER_FILE), JSON.stringify(owner)); // wait for an owner that cannot be read
    syncFolder(ready);
    if (!rename(ready, join(folder, NOW))) remove(ready);
  } catch (error) {
    remove(ready);
    if (codeOf(error) !== "ENOENT") throw error; // the folder was removed by an owner that had finished
  }
  return ownerOf(folder)?.token === token; // the response of a network file system may be lost, so the folder is checked
}

function writeSynced(path: string, text: string): void {
  const fd = openToReplace(path);
  try {
    writeSync(fd, text);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

function makeFolder(folder: string): void {
  try {
    mkdirSync(folder);
  } catch (error) {
    if (codeOf(error) !== "EEXIST") throw error;
  }
}

/**
 * Ends one ownership and no other, because its token is unique. The owner or another process may have ended it before.
 */
function endOwnership(folder: string, token: string): void {
  rename(join(folder, NOW), join(folder, token));
}

/**
 * Renames a folder to an unused name, and returns whether it did. An existing folder is not replaced. The error code
 * varies: SFTP knows only "failure", which sshfs reports as EPERM.
 */
function rename(from: string, to: string): boolean {
  for (let tries = 1; ; tries++) {
    try {
      renameSync(from, to);
      return true;
    } catch (error) {
      const code = codeOf(error) ?? "";
      // ENOENT: the folder to rename or its parent does not exist any more.
      if (["ENOENT", "ENOTEMPTY", "EEXIST"].includes(code) || existsSync(to)) return false;
      if (tries === TRIES) throw error; // the folder did not exist at any time
    }
  }
}

function remove(folder: string): void {
  try {
    rmSync(folder, { recursive: true, force: true });
  } catch {
    // Another process has opened it. An empty folder, or a lock that will be released, is harmless.
  }
}
