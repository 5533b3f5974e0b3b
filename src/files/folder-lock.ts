/**
 * One process at a time at some work on disk, also where several machines share it: a lock that a killed process left
 * behind is taken over.
 *
 *     lock/now/owner.json      who has it
 *     lock/now/beat-<token>    a number that goes up while the owner lives
 *     lock/<token>/            what was `now` once
 *
 * Only renames decide, and each is tied to the token it is about. Taking renames a folder with the owner's name already in
 * it to `now`, which fails where there is one. Ending an ownership, by its owner or by others who hold that for dead,
 * renames `now` to that owner's token, which fails where it was done before: so one who comes late with old knowledge can
 * never put away the lock of the next owner. That is why the past is kept until the work is finished.
 *
 * An owner is dead at once where its process was of this machine and is gone, else when its number has stood still for a
 * while by our own clock (clocks of two machines are not compared). An owner that was stopped for so long finds another's
 * token in the folder, and must stop: `held` says so, and is to be asked before every rename.
 */
import { randomUUID } from "node:crypto";
import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { startBeat, stopBeat } from "./heartbeat.js";
import { lifeOf, type ProcessIdentity, thisProcess } from "./process-identity.js";
import { syncFolder } from "./sync-folder.js";

/** Who has a lock. */
export interface LockOwner extends ProcessIdentity {
  readonly token: string;
}

export interface LockOptions {
  /** Called once, where another process has the lock. */
  onWait?: (owner: LockOwner | undefined) => void;
  /** Milliseconds after which a lock whose number stands still counts as left behind. */
  stillFor?: number;
  /** Milliseconds between two looks at another's lock. */
  poll?: number;
}

/** How long a lock's number may stand still, unless notified. */
export const STILL_MS = 30_000;

/** How often one who takes a dead owner's lock away may find another's in its place. */
const TRIES = 5;

/** A lock that this process has taken. */
export class FolderLock implements Disposable {
  private given = false;

  private constructor(
    private readonly folder: string,
    private readonly token: string,
    stillFor: number,
  ) {
    startBeat(this.own("beat"), stillFor / 6);
  }

  /** Takes the lock, waiting for another's. The folder above it must be there. */
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

  /** Takes the lock if it is free or its owner is dead, without waiting. A `watch` remembers since when a number stands still. */
  static tryTake(folder: string, watch = new LockWatch(folder)): FolderLock | undefined {
    const token = randomUUID();
    for (let tries = 0; tries < TRIES; tries++) {
      if (take(folder, token)) return new FolderLock(folder, token, watch.stillFor);
      const owner = watch.deadOwner();
      if (owner === undefined) return undefined;
      endOwnership(folder, owner.token);
    }
    return undefined; // others are faster, each time
  }

  /** Whether the lock is still ours. */
  get held(): boolean {
    try {
      readdirSync(this.folder); // a network file system looks again at names in a folder that is opened
    } catch {
      return false;
    }
    return ownerOf(this.folder)?.token === this.token;
  }

  /** Leaves a note for those who look at the lock; it goes with it. */
  note(text: string): void {
    try {
      writeFileSync(this.own("note"), text);
    } catch {
      // Taken away: `held` will say so. A note is no matter to fail for.
    }
  }

  /** Marks the work as finished, so that no process can come late: the past is removed with the lock. */
  finish(): void {
    if (this.given) return;
    this[Symbol.dispose]();
    remove(this.folder);
  }

  /** Gives the lock back. */
  [Symbol.dispose](): void {
    if (this.given) return;
    this.given = true;
    stopBeat(this.own("beat"));
    try {
      if (this.held) endOwnership(this.folder, this.token); // not where somebody removed the whole folder by hand, past and all
    } catch {
      // A disk that cannot be written to any more: the lock is left behind, and taken over.
    }
  }

  private own(name: "beat" | "note"): string {
    return join(this.folder, NOW, `${name}-${this.token}`);
  }
}

/** Looks at a lock now and then, and says when its owner is to be held for dead. */
export class LockWatch {
  private seen = "";
  private since = performance.now();
  /** How often its number was seen to change. */
  private beats = 0;

  constructor(
    private readonly folder: string,
    readonly stillFor: number = STILL_MS,
  ) {}

  /** The owner, where there is one and it is dead. */
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

  /** Whether the owner is certainly alive: a process of this machine, or one whose number has gone up since it was looked at. */
  get alive(): boolean {
    const owner = ownerOf(this.folder);
    if (owner === undefined) return false;
    return lifeOf(owner) === "alive" || (this.beats > 0 && this.seen.startsWith(owner.token));
  }

  /** A lock whose owner cannot be read, as after a power cut, by the number of its folder. */
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
    const isName = typeof owner.token === "string" && /^[\w-]+$/.test(owner.token); // it becomes that of a folder
    return isName ? owner : undefined;
  } catch {
    return undefined;
  }
}

/** The note of a lock's owner. */
export function noteOf(folder: string, { token }: LockOwner): string | undefined {
  return read(join(folder, NOW, `note-${token}`));
}

/** When the note of a lock's owner was written last, in milliseconds by the clock of the disk. */
export function noteTime(folder: string, { token }: LockOwner): number | undefined {
  return statSync(join(folder, NOW, `note-${token}`), { throwIfNoEntry: false })?.mtimeMs;
}

const NOW = "now";
const OWNER_FILE = "owner.json";

function read(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}

const codeOf = (error: unknown): string | undefined => (error as NodeJS.ErrnoException).code;

/** Puts a lock of ours where none is. A folder can be renamed to a name that no folder has, or an empty one. */
function take(folder: string, token: string): boolean {
  if (ownerOf(folder) !== undefined) return false;
  const owner: LockOwner = { ...thisProcess(), token };
  const ready = join(folder, `new-${token}`);
  makeFolder(folder);
  try {
    mkdirSync(ready);
    writeFileSync(join(ready, `beat-${token}`), "0");
    writeSynced(join(ready, OWNER_FILE), JSON.stringify(owner)); // an owner that cannot be read is waited for
    syncFolder(ready);
    if (!rename(ready, join(folder, NOW))) remove(ready);
  } catch (error) {
    remove(ready);
    if (codeOf(error) !== "ENOENT") throw error; // the lock's folder went, with an owner that had finished
  }
  return ownerOf(folder)?.token === token; // a network's answer to the rename may be lost, so the folder has the word
}

function writeSynced(path: string, text: string): void {
  const fd = openSync(path, "w");
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

/** Ends an ownership, and no other: its token is a name that is given once. It may have been ended before, by its owner or by another. */
function endOwnership(folder: string, token: string): void {
  rename(join(folder, NOW), join(folder, token));
}

/**
 * Renames a folder to a name that none has; whether it did. A folder that has the name stays as it is. What that failure is called
 * differs: SFTP knows only "failure", which sshfs reports as EPERM.
 */
function rename(from: string, to: string): boolean {
  for (let tries = 1; ; tries++) {
    try {
      renameSync(from, to);
      return true;
    } catch (error) {
      const code = codeOf(error) ?? "";
      // ENOENT: what was to be renamed is gone, or the folder around it.
      if (["ENOENT", "ENOTEMPTY", "EEXIST"].includes(code) || existsSync(to)) return false;
      if (tries === TRIES) throw error; // there was no such folder, also not for a moment
    }
  }
}

function remove(folder: string): void {
  try {
    rmSync(folder, { recursive: true, force: true });
  } catch {
    // Another process is looking into it; an empty folder, or a lock that it will give back, does no harm.
  }
}
