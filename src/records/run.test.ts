import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { accuraciesAt, inFolder, somePacsSettings, writeRun } from "../../tests/support/run-folders.js";
import { DataError } from "../errors.js";
import { methodKey } from "./evaluated-run.js";
import { evaluatedRuns, methodOf, readRun, readSettings } from "./run.js";

test("a run folder is read with its settings, records and whether it is done", () => {
  inFolder((folder) => {
    const records = accuraciesAt(0, 0.5);
    const run = readRun(writeRun(join(folder, "a"), { records }));
    expect(run).toMatchObject({ settings: somePacsSettings, records, done: true, notes: [] });
    expect(readRun(writeRun(join(folder, "b"), { done: false })).done).toBe(false);
  });
});

test("settings may hold more than is named, and it is kept", () => {
  inFolder((folder) => {
    const path = join(writeRun(folder), "settings.json");
    writeFileSync(path, JSON.stringify({ ...somePacsSettings, precision: "bfloat16" }));
    expect(readSettings(path)).toMatchObject({ precision: "bfloat16" });
  });
});

test.each([
  ["{", "could not be read"],
  ["[]", "expected an object, got []"],
  [JSON.stringify({ ...somePacsSettings, dataset: "" }), 'expected "dataset" to be a name, got ""'],
  [JSON.stringify({ ...somePacsSettings, format: 2 }), "in format 2, and this version of NUDGE reads formats up to 1"],
  [JSON.stringify({ ...somePacsSettings, seed: -1 }), 'expected "seed" to be an integer of at least 0, got -1'],
  [JSON.stringify({ ...somePacsSettings, domains: ["a", "a"] }), 'expected "domains" to be a list of different names'],
  [
    JSON.stringify({ ...somePacsSettings, regularizers: ["nuclear-norm"] }),
    '"regularizers.0" to be { id, settings }, got "nuclear-norm"',
  ],
  [JSON.stringify({ ...somePacsSettings, hparams: undefined }), '"hparams" is missing'],
  [
    JSON.stringify({ ...somePacsSettings, testDomains: ["sketches"] }),
    'expected "testDomains" to be among the domains, got ["sketches"]',
  ],
])("settings %s are refused with the file's name", (text, words) => {
  inFolder((folder) => {
    const path = join(writeRun(folder), "settings.json");
    writeFileSync(path, text);
    expect(() => readSettings(path)).toThrow(DataError);
    expect(() => readSettings(path)).toThrow(words);
    expect(() => readSettings(path)).toThrow(path);
  });
});

test("a run without an evaluation has no records, and is reported", () => {
  inFolder((folder) => {
    rmSync(join(writeRun(folder), "records.jsonl"));
    expect(readRun(folder)).toMatchObject({ records: [], notes: [expect.stringContaining("has not been evaluated")] });
  });
});

test("a trajectory yields a run for the trained model and one for its average", () => {
  inFolder((folder) => {
    const records = [
      ...accuraciesAt(0, 0.4),
      { step: 100, model: "current", domain: null, split: null, metric: "loss", value: 0.7 },
      { step: 100, model: "current", domain: "photo", split: "out", metric: "loss", value: 0.9 },
      ...accuraciesAt(100, 0.6),
      ...accuraciesAt(100, 0.8, { model: "swad" }),
    ] as const;
    const settings = { regularizers: [{ id: "nuclear-norm", settings: { weight: 0.01 } }] };
    const { runs, notes } = evaluatedRuns(readRun(writeRun(folder, { records, settings })));
    expect(notes).toEqual([]);
    expect(runs.map(({ method }) => methodKey(method))).toEqual(["erm+nuclear-norm", "swad(erm+nuclear-norm)"]);
    expect(runs[0].evaluations.map(({ step }) => step)).toEqual([0, 100]);
    expect(runs[1].evaluations).toHaveLength(1);
    expect(runs[1].evaluations[0].accuracy.get("sketch")).toEqual({ in: 0.8 + 3 / 100, out: (0.8 + 3 / 100) / 2 });
    expect(runs[0]).toMatchObject({ source: folder, format: "nudge", dataset: "pacs", testDomains: ["sketch"] });
  });
});

test("an evaluation that lacks an accuracy is skipped and reported, so that no mean is over fewer domains", () => {
  inFolder((folder) => {
    const run = readRun(
      writeRun(folder, { records: [...accuraciesAt(0, 0.4), ...accuraciesAt(100, 0.6).slice(0, -1)] }),
    );
    const { runs, notes } = evaluatedRuns(run);
    expect(runs[0].evaluations.map(({ step }) => step)).toEqual([0]);
    expect(notes).toEqual([`${folder}: step 100 of current was skipped: no accuracy of sketch out`]);
  });
});

test("what was set by hand makes another row, whatever the order it was given in", () => {
  const variant = (fixed: Record<string, string | number>): string =>
    methodKey(methodOf({ ...somePacsSettings, fixed }, "current"));
  expect(variant({})).toBe("erm");
  expect(variant({ scaling: "sum", lr: 0.1 })).toBe("erm [lr=0.1 scaling=sum]");
  expect(variant({ lr: 0.1, scaling: "sum" })).toBe("erm [lr=0.1 scaling=sum]");
});

test("reading changes nothing on disk", () => {
  inFolder((folder) => {
    const path = join(writeRun(folder), "records.jsonl");
    writeFileSync(path, `${readFileSync(path, "utf8")}{"step":`);
    const before = readFileSync(path);
    expect(readRun(folder).notes).toHaveLength(1);
    expect(readFileSync(path)).toEqual(before);
  });
});
