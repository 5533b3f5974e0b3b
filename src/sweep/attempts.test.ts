import { appendFileSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../tests/support/picture-folder.js";
import {
  beginAttempt,
  endAttempt,
  failAttempt,
  failedRuns,
  giveUp,
  idsWithAttempts,
  MOST_LOST,
  NO_ATTEMPTS,
  readAttempts,
} from "./attempts.js";

const id = "00000000000000a1";

function makeSweep(): { folder: string; run: string } {
  const folder = temporaryFolder();
  const run = join(folder, "runs", id);
  mkdirSync(run, { recursive: true });
  return { folder, run };
}

test("a run that ends normally leaves no attempt behind", () => {
  const { folder, run } = makeSweep();
  expect(beginAttempt(folder, id, run, 0).open).toMatchObject({ pid: process.pid });
  expect([...idsWithAttempts(folder)]).toEqual([id]);
  endAttempt(folder, id);
  expect(idsWithAttempts(folder).size).toBe(0);
});

test("after an error a run is tried as often as requested, and then it has failed", () => {
  const { folder, run } = makeSweep();
  for (const verdict of [null, null, "failed"] as const) {
    beginAttempt(folder, id, run, 2);
    expect(failAttempt(folder, id, new Error("no memory\nand more"), 2).verdict).toBe(verdict);
  }
  expect(readAttempts(folder, id)).toMatchObject({ errors: 3, open: null, last: { error: "no memory" } });
  expect(readAttempts(folder, id).last?.details).toContain("and more");
  expect(failedRuns(folder)).toEqual([id]);
});

test("tries that end without a word are counted while the run gets no further, and then it has failed", () => {
  const { folder, run } = makeSweep();
  for (let i = 0; i < MOST_LOST; i++) expect(beginAttempt(folder, id, run, 0).verdict).toBe(null);
  const last = beginAttempt(folder, id, run, 0);
  expect(last).toMatchObject({ verdict: "failed", lost: MOST_LOST });
  expect(last.last?.error).toMatch(/^process \d+ on .+ ended without a message: killed, out of memory, or crashed$/);
});

test("a run that gets further between two kills may be killed for ever", () => {
  const { folder, run } = makeSweep();
  for (let i = 0; i < 3 * MOST_LOST; i++) {
    expect(beginAttempt(folder, id, run, 0).verdict).toBe(null);
    appendFileSync(join(run, "records.jsonl"), "{}\n");
  }
});

test("an error is remembered when the run is done after all", () => {
  const { folder, run } = makeSweep();
  failAttempt(folder, id, new Error("once"), 1);
  beginAttempt(folder, id, run, 1);
  endAttempt(folder, id);
  expect(readAttempts(folder, id)).toMatchObject({ errors: 1, verdict: null, open: null, last: { error: "once" } });
});

test("a run that was given up has a reason, and does not count as failed", () => {
  const { folder } = makeSweep();
  giveUp(folder, id, "far behind");
  expect(readAttempts(folder, id)).toMatchObject({ verdict: "hopeless", last: { error: "far behind" } });
  expect(failedRuns(folder)).toEqual([]);
});

test("a file that cannot be read is ignored", () => {
  const { folder } = makeSweep();
  mkdirSync(join(folder, "attempts"));
  for (const text of ["", "{", '{"format":7}']) {
    writeFileSync(join(folder, "attempts", `${id}.json`), text);
    expect(readAttempts(folder, id)).toEqual(NO_ATTEMPTS);
  }
});
