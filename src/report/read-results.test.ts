import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { accuraciesAt, inFolder, writeRun } from "../../tests/support/run-folders.js";
import { DataError } from "../errors.js";
import { toDomainBed } from "../records/domainbed.js";
import { methodKey } from "../records/evaluated-run.js";
import { readRun } from "../records/run.js";
import { selectGroups, trainingDomain } from "../selection/index.js";
import { readResults } from "./read-results.js";

test("runs are found in a folder of sweeps, foreign files passed over and told", () => {
  inFolder((folder) => {
    writeRun(join(folder, "sweep", "b"), { settings: { trialSeed: 1 } });
    writeRun(join(folder, "sweep", "a"));
    writeFileSync(join(folder, "notes.txt"), "mine");
    writeFileSync(join(folder, ".hidden"), "");
    const { runs, stored, notes } = readResults([folder]);
    expect(runs.map(({ trialSeed }) => trialSeed)).toEqual([0, 1]); // by folder name
    expect(stored).toHaveLength(2);
    expect(notes).toEqual([`${folder}: passed over notes.txt, which is no run`]);
  });
});

test("a run's own folder can be given, and one broken run does not cost the others", () => {
  inFolder((folder) => {
    const good = writeRun(join(folder, "good"));
    expect(readResults([good]).runs).toHaveLength(1);
    const bad = writeRun(join(folder, "bad"));
    writeFileSync(join(bad, "settings.json"), "{");
    const { runs, notes } = readResults([folder]);
    expect(runs.map(({ source }) => source)).toEqual([good]);
    expect(notes[0]).toContain(`left out: ${join(bad, "settings.json")}`);
  });
});

test("runs of both testbeds in one folder end in the same tables", () => {
  inFolder((folder) => {
    const own = writeRun(join(folder, "own"), { records: accuraciesAt(0, 0.5) });
    const theirs = join(folder, "theirs");
    mkdirSync(theirs);
    writeFileSync(join(theirs, "results.jsonl"), toDomainBed(readRun(own), { algorithm: "ERM" }));
    const results = selectGroups(readResults([folder]).runs, trainingDomain);
    expect(
      results.map(({ method, dataset, testDomain, choice }) => [methodKey(method), dataset, testDomain, choice.test]),
    ).toEqual([
      ["erm", "pacs", "sketch", 0.53],
      ["ERM", "pacs", "sketch", 0.53],
    ]);
  });
});

test("SWAD's files are told apart from DomainBed's", () => {
  inFolder((folder) => {
    const args = { algorithm: "ERM", dataset: "VLCS", real_test_envs: [1], trial_seed: 0 };
    const line = { args, env0_out: 0.1, env1_in: 0.2, env1_out: 0.3, env2_out: 0.4, env3_out: 0.5, step: 0 };
    writeFileSync(join(folder, "results.jsonl"), `${JSON.stringify(line)}\n`);
    expect(readResults([folder]).runs).toMatchObject([{ format: "swad", dataset: "vlcs", testDomains: ["LabelMe"] }]);
  });
});

test("of two runs of the same setting the finished one counts, the other is told", () => {
  inFolder((folder) => {
    const broken = writeRun(join(folder, "1"), { done: false, settings: { seed: 1 } });
    const finished = writeRun(join(folder, "2"), { settings: { seed: 2 } });
    const later = writeRun(join(folder, "3"), { settings: { seed: 3 } });
    const { runs, notes } = readResults([folder]);
    expect(runs.map(({ source }) => source)).toEqual([finished]);
    expect(notes).toEqual([
      expect.stringContaining(`${broken}: left out: ${finished} is a run of the same setting (erm, trial 0)`),
      expect.stringContaining(`${later}: left out: ${finished} is a run of the same setting`),
    ]);
  });
});

test("a folder given twice is read once", () => {
  inFolder((folder) => {
    writeRun(join(folder, "a"));
    const once = readResults([folder]);
    expect(readResults([folder, join(folder, "a")])).toEqual(once);
  });
});

test("a folder that is not there is an error; one without runs is told", () => {
  inFolder((folder) => {
    expect(() => readResults([join(folder, "none")])).toThrow(DataError);
    expect(readResults([folder])).toEqual({ runs: [], stored: [], sweeps: [], notes: [`${folder}: no runs in it`] });
  });
});
