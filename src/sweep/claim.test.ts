import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../tests/support/picture-folder.js";
import { finishRun, writeSweep } from "../../tests/support/sweeps.js";
import { thisProcess } from "../files/process-identity.js";
import { failAttempt } from "./attempts.js";
import { cancelRun, uncancelRun } from "./cancel-marks.js";
import { Claims } from "./claim.js";
import { readRunList } from "./run-list.js";
import { sweepPaths } from "./sweep-folder.js";

function makeClaims(count: number, first = 0) {
  const folder = temporaryFolder();
  const runs = writeSweep(folder, count);
  return { folder, runs, claims: (): Claims => new Claims(folder, readRunList(folder), first) };
}

/** A lock of another process on a run. */
function lockBy(folder: string, name: string, owner: object): void {
  const now = join(sweepPaths(folder).run(name), "lock", "now");
  mkdirSync(now, { recursive: true });
  writeFileSync(join(now, "owner.json"), JSON.stringify(owner));
}

const ids = (runs: Iterable<{ readonly id: string }>): string[] => Array.from(runs, ({ id }) => id);

test("runs are given out in the plan's order, each to one", () => {
  const { runs, claims } = makeClaims(3);
  const [one, other] = [claims(), claims()];
  const taken = [one.next()!, other.next()!, one.next()!];
  expect(ids(taken.map(({ run }) => run))).toEqual(ids(runs));
  expect(other.next()).toBeUndefined();
  taken[1].folder[Symbol.dispose]();
  expect(one.next()?.run.id).toBe(runs[1].id);
});

test("where to begin may be said, and the rest follows", () => {
  const { runs, claims } = makeClaims(3, 4);
  expect(ids(claims().waiting())).toEqual([runs[1].id, runs[2].id, runs[0].id]);
});

test("what is done, failed, taken out or in living hands does not wait; what the dead had does", () => {
  const { folder, runs, claims } = makeClaims(6);
  finishRun(folder, runs[0]);
  failAttempt(folder, runs[1].id, new Error("no"), 0);
  failAttempt(folder, runs[2].id, new Error("no"), 1); // it can be tried again
  cancelRun(folder, runs[3].id);
  lockBy(folder, runs[4].name, { ...thisProcess(), token: "a" });
  lockBy(folder, runs[5].name, { ...thisProcess(), pid: 2 ** 22 + 1, token: "b" });
  expect(ids(claims().waiting())).toEqual([runs[2].id, runs[5].id]);
  uncancelRun(folder, runs[3].id);
  expect(ids(claims().waiting())).toEqual([runs[2].id, runs[3].id, runs[5].id]);
});

test("those done are not looked at again", () => {
  const { folder, runs, claims } = makeClaims(3);
  const own = claims();
  finishRun(folder, runs[1]);
  expect(ids(own.waiting())).toEqual([runs[0].id, runs[2].id]);
  expect(ids(own.left)).toEqual([runs[0].id, runs[2].id]);
});

test("a run that others have is waited for until they are seen to live, or as long as they have it", () => {
  const { folder, runs, claims } = makeClaims(2);
  const own = claims();
  expect(own.anyTaken({ evenIfBeating: true })).toBe(false);
  const elsewhere = { ...thisProcess(), place: "elsewhere", token: "c" };
  lockBy(folder, runs[0].name, elsewhere);
  const beat = join(sweepPaths(folder).run(runs[0].name), "lock", "now", "beat-c");
  writeFileSync(beat, "1");
  expect(own.anyTaken({ evenIfBeating: false })).toBe(true); // the process may be dead
  writeFileSync(beat, "2");
  expect(own.anyTaken({ evenIfBeating: false })).toBe(false); // the process is alive
  expect(own.anyTaken({ evenIfBeating: true })).toBe(true);
});
