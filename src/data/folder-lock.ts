/**
 * One process at a time at some work on disk: a folder, which only one process can make. Its owner bumps its time while it
 * works. A lock that a killed process left behind is taken over: at once where that process was of this machine and is gone,
 * else when the time has stood still for a while by our own clock (clocks of two machines are not compared).
 *
 * An owner that was stopped for long enough to be called dead finds another's token in the folder, and must stop: `held`
 * says so. What it wrote meanwhile must not harm the new owner's work; the lock cannot see to that.
 */
import { randomUUID } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

interface Owner {
  readonly pid: number;
  readonly host: string;
  readonly token: string;
}

export interface LockOptions {
  /** Called once, where another process has the lock. */
  onWait?: (owner: { pid: number; host: string } | undefined) => void;
  /** Milliseconds after which a lock whose time stands still counts as left behind. */
  stillFor?: number;
  /** Milliseconds between two looks at another's lock. */
  poll?: number;
}

/** A lock that this process has taken. */
export class FolderLock implements Disposable {
  private readonly beat: NodeJS.Timeout;

  private constructor(
    private readonly folder: string,
    private readonly token: string,
    interval: number,
  ) {
    this.beat = setInterval(() => bump(folder), interval);
    this.beat.unref();
  }

  /** Takes the lock, waiting for another's. The folder above it must be there. */
  static async take(folder: string, options: LockOptions = {}): Promise<FolderLock> {
    const { onWait, stillFor = 30_000, poll = 100 } = options;
    const token = randomUUID();
    let told = false;
    let seen = "";
    let since = performance.now();
    while (!make(folder, token)) {
      const owner = ownerOf(folder);
      const sight = `${owner?.token} ${statSync(folder, { throwIfNoEntry: false })?.mtimeMs}`;
      if (sight !== seen) [seen, since] = [sight, performance.now()];
      const gone = owner?.host === hostname() && !isAlive(owner.pid);
      if (gone || performance.now() - since > stillFor) {
        takeAway(folder, owner);
        continue;
      }
      if (!told) onWait?.(owner);
      told = true;
      await sleep(poll);
    }
    return new FolderLock(folder, token, stillFor / 6);
  }

  /** Whether the lock is still ours. */
  get held(): boolean {
    return ownerOf(this.folder)?.token === this.token;
  }

  [Symbol.dispose](): void {
    clearInterval(this.beat);
    if (this.held) rmSync(this.folder, { recursive: true, force: true });
  }
}

function make(folder: string, token: string): boolean {
  try {
    mkdirSync(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
  const owner: Owner = { pid: process.pid, host: hostname(), token };
  writeFileSync(join(folder, "owner.json"), JSON.stringify(owner));
  return true;
}

/** Who has the lock; undefined where nobody has, or has not written its name yet. */
function ownerOf(folder: string): Owner | undefined {
  try {
    return JSON.parse(readFileSync(join(folder, "owner.json"), "utf8")) as Owner;
  } catch {
    return undefined;
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
  try {
    // A killed process whose parent has not asked for it yet still answers to a signal: state Z, after the name in brackets.
    return !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return true; // no /proc to ask
  }
}

/** Puts a dead owner's lock out of the way; if another process was first and has a lock of its own by now, that is put back. */
function takeAway(folder: string, dead: Owner | undefined): void {
  const aside = `${folder}.${randomUUID()}`;
  try {
    renameSync(folder, aside);
  } catch {
    return; // gone already
  }
  if (ownerOf(aside)?.token === dead?.token) rmSync(aside, { recursive: true, force: true });
  else renameSync(aside, folder);
}

function bump(folder: string): void {
  const now = new Date();
  try {
    utimesSync(folder, now, now);
  } catch {
    // Taken away: `held` will say so.
  }
}
