import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, expect, test } from "vitest";
import { FolderLock } from "./folder-lock.js";

const folder = mkdtempSync(join(tmpdir(), "nudge-lock-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** A lock that someone else has. */
function leave(name: string, owner: object): string {
  const path = join(folder, name);
  mkdirSync(path);
  writeFileSync(join(path, "owner.json"), JSON.stringify(owner));
  return path;
}

test("of many who want it, one at a time has it", async () => {
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

test("one who waits is told for whom, once, and waits as long as the owner lives", async () => {
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
  const path = leave("gone", { pid: 2 ** 22 + 1, host: hostname(), token: "other" });
  const start = performance.now();
  using lock = await FolderLock.take(path);
  expect(performance.now() - start).toBeLessThan(1000);
  expect(lock.held).toBe(true);
});

test("a lock of another machine is taken when it has stood still, and not before", async () => {
  const path = leave("elsewhere", { pid: 1, host: "elsewhere", token: "other" });
  const start = performance.now();
  using lock = await FolderLock.take(path, { stillFor: 150, poll: 5 });
  expect(performance.now() - start).toBeGreaterThan(140);
  expect(lock.held).toBe(true);
});

test("who lost the lock knows it, and leaves the new owner's alone", async () => {
  const path = join(folder, "lost");
  const lock = await FolderLock.take(path);
  rmSync(path, { recursive: true });
  leave("lost", { pid: 1, host: "elsewhere", token: "new" });
  expect(lock.held).toBe(false);
  lock[Symbol.dispose]();
  expect(JSON.parse(readFileSync(join(path, "owner.json"), "utf8")).token).toBe("new");
});
