import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { beforeEach, expect, test, vi } from "vitest";
import { takeLock } from "../../scripts/setup/lock.mjs";
import { temporaryFolder, write } from "./fake-libtorch.js";

beforeEach(() => {
  vi.spyOn(process.stderr, "write").mockReturnValue(true); // "waiting for another set-up"
  return () => vi.restoreAllMocks();
});

const quick = { stillFor: 200, poll: 5 };

test("many processes hold the lock one at a time", async () => {
  const folder = join(temporaryFolder(), "build/lock");
  let inside = 0;
  let most = 0;
  const worker = async () => {
    const release = await takeLock(folder, { poll: 1 });
    most = Math.max(most, ++inside);
    await new Promise((resolve) => setTimeout(resolve, 5));
    inside--;
    release();
  };
  await Promise.all(Array.from({ length: 8 }, worker));
  expect(most).toBe(1);
  expect(existsSync(folder)).toBe(false);
});

test("the lock of a process that has ended is taken over immediately", async () => {
  const parent = temporaryFolder();
  const folder = join(parent, "lock");
  const { pid } = spawnSync(process.execPath, ["-e", ""]);
  write(join(folder, "owner.json"), JSON.stringify({ pid, host: hostname(), token: "gone" }));
  const start = performance.now();
  const release = await takeLock(folder); // would stand still for 30 s
  expect(performance.now() - start).toBeLessThan(5000);
  release();
  expect(readdirSync(parent)).toEqual([]);
});

test("a lock of another machine is respected while it is updated, and taken over when it is not", async () => {
  const folder = join(temporaryFolder(), "lock");
  write(join(folder, "owner.json"), JSON.stringify({ pid: 1, host: `not-${hostname()}`, token: "other" }));
  const start = performance.now();
  const release = await takeLock(folder, quick);
  expect(performance.now() - start).toBeGreaterThan(quick.stillFor);
  release();
});

test("an owner that works longer keeps its lock, because it updates it", async () => {
  const folder = join(temporaryFolder(), "lock");
  const release = await takeLock(folder, quick);
  let taken = false;
  const second = takeLock(folder, quick).then((releaseSecond) => {
    taken = true;
    return releaseSecond;
  });
  await new Promise((resolve) => setTimeout(resolve, 3 * quick.stillFor));
  expect(taken).toBe(false);
  release();
  (await second)();
});

test("a lock whose creator died before writing its owner is taken over", async () => {
  const folder = join(temporaryFolder(), "lock");
  mkdirSync(folder);
  (await takeLock(folder, quick))();
  expect(existsSync(folder)).toBe(false);
});
