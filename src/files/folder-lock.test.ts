import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, expect, test } from "vitest";
import { FolderLock, LockWatch, noteOf, ownerOf } from "./folder-lock.js";
import { stopBeat } from "./heartbeat.js";
import { thisProcess } from "./process-identity.js";

const folder = mkdtempSync(join(tmpdir(), "nudge-lock-"));
afterAll(() => rmSync(folder, { recursive: true }));

const elsewhere = { pid: 1, host: "elsewhere", place: "elsewhere", started: null };

/** A lock that someone else has. */
function leave(name: string, owner: object): string {
  const path = join(folder, name);
  mkdirSync(join(path, "now"), { recursive: true });
  writeFileSync(join(path, "now", "owner.json"), JSON.stringify(owner));
  return path;
}

test("of many processes that want the lock, one at a time has it", async () => {
  const path = join(folder, "many");
  let [inside, most, done] = [0, 0, 0];
  await Promise.all(
    Array.from({ length: 6 }, async () => {
      using _ = await FolderLock.take(path, { poll: 2 });
      most = Math.max(most, ++inside);
      await sleep(5);
      inside--;
      done++;
    }),
  );
  expect([most, done]).toEqual([1, 6]);
});

test("a waiting process learns once who has the lock, and waits as long as the owner lives", async () => {
  const path = join(folder, "wait");
  const first = await FolderLock.take(path, { stillFor: 100 });
  const told: unknown[] = [];
  const second = FolderLock.take(path, { poll: 5, stillFor: 100, onWait: (owner) => told.push(owner) });
  await sleep(300); // thrice as long as a lock may stand still: the owner bumps it
  expect(told).toMatchObject([{ pid: process.pid, host: hostname() }]);
  first[Symbol.dispose]();
  (await second)[Symbol.dispose]();
});

test("a lock of a process of this machine that is gone is taken at once", async () => {
  const path = leave("gone", { ...thisProcess(), pid: 2 ** 22 + 1, token: "other" });
  const start = performance.now();
  using lock = await FolderLock.take(path);
  expect(performance.now() - start).toBeLessThan(1000);
  expect(lock.held).toBe(true);
});

test("a lock of another machine is taken when it has stood still, and not before", async () => {
  const path = leave("elsewhere", { ...elsewhere, token: "other" });
  const start = performance.now();
  using lock = await FolderLock.take(path, { stillFor: 150, poll: 5 });
  expect(performance.now() - start).toBeGreaterThan(140);
  expect(lock.held).toBe(true);
});

test("a lock whose owner cannot be read, as after a power cut, is taken when it has stood still", async () => {
  const path = leave("unreadable", {});
  using lock = await FolderLock.take(path, { stillFor: 50, poll: 5 });
  expect(lock.held).toBe(true);
});

test("an owner whose token is a path is none, and leads nowhere", async () => {
  const path = leave("path", { ...thisProcess(), pid: 2 ** 22 + 1, token: "../escaped" });
  expect(ownerOf(path)).toBeUndefined();
  using lock = await FolderLock.take(path, { stillFor: 50, poll: 5 });
  expect(lock.held).toBe(true);
  expect(existsSync(join(folder, "escaped"))).toBe(false);
});

test("a process that lost the lock knows it, and does not touch the lock of the new owner", async () => {
  const path = join(folder, "lost");
  const lock = await FolderLock.take(path);
  rmSync(path, { recursive: true });
  leave("lost", { ...elsewhere, token: "new" });
  expect(lock.held).toBe(false);
  lock[Symbol.dispose]();
  expect(ownerOf(path)?.token).toBe("new");
});

test("one who is late in finding an owner dead cannot put away the lock of the next", () => {
  const path = join(folder, "late");
  const dead = FolderLock.tryTake(path)!;
  const token = ownerOf(path)!.token;
  dead[Symbol.dispose]();
  using next = FolderLock.tryTake(path)!;
  const late = new LockWatch(path);
  let found = 0;
  late.deadOwner = () => (found++ === 0 ? { token } : undefined); // what it saw before
  expect(FolderLock.tryTake(path, late)).toBeUndefined();
  expect(found).toBe(2);
  expect(next.held).toBe(true);
});

test("a note lasts as long as the lock, and finished work leaves nothing", () => {
  const path = join(folder, "note");
  const lock = FolderLock.tryTake(path)!;
  lock.note("step 3");
  expect(noteOf(path, ownerOf(path)!)).toBe("step 3");
  expect(FolderLock.tryTake(path)).toBeUndefined();
  lock.finish();
  expect(existsSync(path)).toBe(false);
});

test("the lock of a suspended process is taken over, and the process notices when it resumes", async () => {
  const path = join(folder, "stopped");
  const lock = FolderLock.tryTake(path, new LockWatch(path, 60))!;
  stopBeat(join(path, "now", `beat-${ownerOf(path)!.token}`)); // as SIGSTOP would
  using next = await FolderLock.take(path, { stillFor: 60, poll: 5 });
  expect([lock.held, next.held]).toEqual([false, true]);
});
