/**
 * Lets one setup run at a time in a clone. The lock is a folder, which only one process can create. Its owner updates
 * its time while it works. A lock that a killed process left is taken over: immediately if the process was on this
 * machine and has ended, otherwise after its time has not changed while we watched (clocks of two machines are not
 * compared).
 */
import { randomUUID } from "node:crypto";
import { mkdirSync, renameSync, rmSync, statSync, utimesSync } from "node:fs";
import { hostname } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { say } from "./report.mjs";
import { readJson, writeJson } from "./stamp.mjs";

/** @typedef {{ pid: number, host: string, token: string }} Owner */

/** Whether a process of this machine is running. @param {number} pid */
function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return /** @type {NodeJS.ErrnoException} */ (error).code === "EPERM";
  }
}

/** @param {string} folder @param {string} token @returns {boolean} whether this call created the lock */
function make(folder, token) {
  try {
    mkdirSync(folder);
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code === "EEXIST") return false;
    throw error;
  }
  writeJson(join(folder, "owner.json"), { pid: process.pid, host: hostname(), token });
  return true;
}

/** Removes the lock of a dead owner. If another process removed it first and now holds its own lock, that lock
 * is restored. @param {string} folder @param {Owner | undefined} dead */
function takeAway(folder, dead) {
  const aside = `${folder}.${randomUUID()}`;
  try {
    renameSync(folder, aside);
  } catch {
    return; // already removed
  }
  const taken = readJson(join(aside, "owner.json"));
  if (taken?.token === dead?.token) rmSync(aside, { recursive: true });
  else renameSync(aside, folder);
}

/** Acquires the lock, and waits if another process holds it. The returned function releases it.
 * @param {string} folder @param {{ stillFor?: number, poll?: number }} [times] in milliseconds
 * @returns {Promise<() => void>} */
export async function takeLock(folder, { stillFor = 30_000, poll = 200 } = {}) {
  mkdirSync(dirname(folder), { recursive: true });
  const token = randomUUID();
  let said = false;
  let watched = "";
  let since = performance.now();
  while (!make(folder, token)) {
    /** @type {Owner | undefined} */
    const owner = readJson(join(folder, "owner.json"));
    const sight = `${owner?.token} ${statSync(folder, { throwIfNoEntry: false })?.mtimeMs}`;
    if (sight !== watched) [watched, since] = [sight, performance.now()];
    const dead = owner?.host === hostname() && !isAlive(owner.pid);
    if (dead || performance.now() - since > stillFor) {
      takeAway(folder, owner);
      continue;
    }
    if (!said) say(`waiting for another set-up${owner ? ` (process ${owner.pid})` : ""} …`);
    said = true;
    await sleep(poll);
  }
  const beat = setInterval(
    () => {
      const now = new Date();
      utimesSync(folder, now, now);
    },
    Math.min(5000, stillFor / 4),
  );
  beat.unref();
  return () => {
    clearInterval(beat);
    if (readJson(join(folder, "owner.json"))?.token === token) rmSync(folder, { recursive: true, force: true });
  };
}
