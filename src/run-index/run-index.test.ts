import { appendFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../tests/support/picture-folder.js";
import { accuraciesAt, writeRun } from "../../tests/support/run-folders.js";
import { writeSweep } from "../../tests/support/sweeps.js";
import { FolderLock } from "../files/folder-lock.js";
import { formatRecord } from "../records/record.js";
import { RunIndex } from "./run-index.js";

const find = (index: RunIndex): string[] => Array.from(index.find(), (run) => run?.id ?? "").filter((id) => id !== "");
const look = (index: RunIndex): string[] =>
  Array.from(index.look(), (looked) => (looked ? `${looked.run.id}: ${looked.change}` : "")).filter(
    (text) => text !== "",
  );

test("a run is read once, and again only when its numbers change", async () => {
  const folder = temporaryFolder();
  const run = writeRun(join(folder, "one"), { done: false });
  const index = new RunIndex([folder]);
  expect(find(index)).toEqual(["one"]);
  const steps = (): number[] =>
    index.runs
      .get("one")!
      .result()!
      .runs[0].evaluations.map(({ step }) => step);
  expect(steps()).toEqual([0]);
  const first = index.runs.get("one")!.result();
  using lock = await FolderLock.take(join(run, "lock"));
  expect(look(index)).toEqual(["one: numbers"]); // the first scan reads the records
  expect(look(index)).toEqual(["one: row"]);
  const second = index.runs.get("one")!.result();
  expect(second!.runs).toEqual(first!.runs);
  expect(index.runs.get("one")!.result()).toBe(second);
  appendFileSync(join(run, "records.jsonl"), accuraciesAt(300, 0.75).map(formatRecord).join(""));
  expect(look(index)).toEqual(["one: numbers"]);
  expect(steps()).toEqual([0, 300]);
  lock[Symbol.dispose]();
  rmSync(run, { recursive: true });
  expect(find(index)).toEqual([]);
  expect(index.runs.get("one")).toBeUndefined();
});

test("a record line that is half written is left to the careful reader, in a report and while the run is followed", () => {
  const folder = temporaryFolder();
  const run = writeRun(join(folder, "one"), { done: false });
  appendFileSync(join(run, "records.jsonl"), '{"step":300,"mo');
  const [read, followed] = [new RunIndex([folder]), new RunIndex([folder])];
  find(read);
  look(followed);
  for (const index of [read, followed]) {
    const { runs, notes } = index.runs.get("one")!.result()!;
    expect(runs[0].evaluations.map(({ step }) => step)).toEqual([0]);
    expect(notes.map(({ text }) => text).join()).toContain("the last line is torn");
  }
});

test("the folder of a planned run is begun before it has settings, and has no result", () => {
  const sweep = temporaryFolder();
  const [{ name }] = writeSweep(sweep, 1);
  const run = join(sweep, "runs", name);
  mkdirSync(run, { recursive: true });
  const index = new RunIndex([sweep]);
  expect(look(index)).toEqual([`runs/${name}: none`]);
  expect(index.runs.get(`runs/${name}`)).toMatchObject({ isBare: true, state: "stopped" });
  expect(index.runs.get(`runs/${name}`)!.result()).toBeUndefined();
  const settings = readFileSync(join(writeRun(join(temporaryFolder(), "made")), "settings.json"));
  writeFileSync(join(run, "settings.json"), settings);
  expect(look(index)).toEqual([`runs/${name}: row`]);
  expect(index.runs.get(`runs/${name}`)).toMatchObject({ isBare: false, state: "stopped" });
});
