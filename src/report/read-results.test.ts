import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { accuraciesAt, inFolder, somePacsSettings, writeRun } from "../../tests/support/run-folders.js";
import { writeSweep } from "../../tests/support/sweeps.js";
import { DataError } from "../errors.js";
import { packStudy } from "../pack/pack-study.js";
import { toDomainBed } from "../records/domainbed.js";
import { methodKey } from "../records/evaluated-run.js";
import { readRun } from "../records/run.js";
import { selectGroups, trainingDomain } from "../selection/index.js";
import { type Results, readResults } from "./read-results.js";
import { sweepWords } from "./sweep-progress.js";

test("runs are found in a folder of sweeps, and foreign files are skipped and reported", () => {
  inFolder((folder) => {
    writeRun(join(folder, "sweep", "b"), { settings: { trialSeed: 1 } });
    writeRun(join(folder, "sweep", "a"));
    writeFileSync(join(folder, "notes.txt"), "mine");
    writeFileSync(join(folder, ".hidden"), "");
    const { runs, stored, notes } = readResults([folder]);
    expect(runs.map(({ trialSeed }) => trialSeed)).toEqual([0, 1]); // by folder name
    expect(stored).toHaveLength(2);
    expect(notes).toEqual([`${folder}: skipped notes.txt, which is not a run`]);
  });
});

test("a single run's folder can be given, and one broken run does not affect the others", () => {
  inFolder((folder) => {
    const good = writeRun(join(folder, "good"));
    expect(readResults([good]).runs).toHaveLength(1);
    const bad = writeRun(join(folder, "bad"));
    writeFileSync(join(bad, "settings.json"), "{");
    const { runs, notes } = readResults([folder]);
    expect(runs.map(({ source }) => source)).toEqual([good]);
    expect(notes[0]).toContain(`skipped: ${join(bad, "settings.json")}`);
  });
});

test("runs that evaluated a part of their held-out domains to choose a recipe have one note in all", () => {
  inFolder((folder) => {
    const records = accuraciesAt(0, 0.5).filter(({ domain, split }) => domain !== "sketch" || split !== "out");
    const settings = { testPictures: 600 };
    for (const name of ["a", "b"]) writeRun(join(folder, name), { settings, records });
    writeRun(join(folder, "whole"));
    const { runs, stored, notes } = readResults([folder]);
    expect([runs.length, stored.length]).toEqual([1, 3]);
    expect(notes).toEqual([
      "2 runs are not in the tables, because only a part of the held-out pictures was evaluated to choose a recipe. The results are in report.html in the folder of the model",
    ]);
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

test("packs are read as the folders they were made from, given by name, in a folder and beside folders", () => {
  inFolder((folder) => {
    const sweep = join(folder, "sweep");
    const planned = writeSweep(sweep, 4);
    for (const [i, { name }] of planned.slice(0, 3).entries())
      writeRun(join(sweep, "runs", name), { settings: { trialSeed: i }, done: i < 2 });
    const packs = join(folder, "packs");
    mkdirSync(packs);
    const pack = join(packs, "study.nudge");
    packStudy([sweep], pack);
    const [whole, packed] = [readResults([sweep]), readResults([pack])];
    const plain = ({ runs, notes }: Results) => JSON.stringify({ runs, notes });
    expect(plain(packed).replaceAll(pack, sweep)).toEqual(plain(whole));
    expect(packed.stored.map(({ records, done }) => ({ records, done }))).toEqual(
      whole.stored.map(({ records, done }) => ({ records, done })),
    );
    expect(packed.sweeps).toMatchObject([{ folder: pack, planned: 4, packed: true }]);
    expect(sweepWords(packed.sweeps![0], packed.stored)).toContain(
      `Run the rest with: nudge unpack ${pack} --out ${join(packs, "study")} && nudge sweep run ${join(packs, "study")}`,
    );
    expect(readResults([packs]).runs).toHaveLength(3);
    const other = writeRun(join(folder, "other", "x"), { settings: { trialSeed: 9 } });
    expect(readResults([pack, other]).runs.map(({ trialSeed }) => trialSeed)).toEqual([0, 1, 2, 9]);
  });
});

test("a damaged pack and a broken run in a pack do not affect other runs, and are reported", () => {
  inFolder((folder) => {
    const runs = join(folder, "runs");
    for (const trialSeed of [0, 1, 2]) writeRun(join(runs, `t${trialSeed}`), { settings: { trialSeed } });
    writeFileSync(join(runs, "t1", "settings.json"), "{");
    const pack = join(folder, "study.nudge");
    packStudy([runs], pack);
    const { runs: read, notes } = readResults([pack]);
    expect(read.map(({ source }) => source)).toEqual([join(pack, "t0"), join(pack, "t2")]);
    expect(notes[0]).toContain(`skipped: ${join(pack, "t1", "settings.json")}`);
    writeFileSync(pack, readFileSync(pack).subarray(0, -9));
    expect(readResults([pack, join(runs, "t0")])).toMatchObject({
      runs: [{ trialSeed: 0 }],
      notes: [
        expect.stringContaining("study.nudge: block 1, at byte 0, is damaged"),
        expect.stringContaining("cut short"),
        expect.any(String),
      ],
    });
    writeFileSync(pack, "hello");
    expect(readResults([pack]).notes[0]).toContain("not a packed study");
  });
});

test("SWAD's files are distinguished from DomainBed's", () => {
  inFolder((folder) => {
    const args = { algorithm: "ERM", dataset: "VLCS", real_test_envs: [1], trial_seed: 0 };
    const line = { args, env0_out: 0.1, env1_in: 0.2, env1_out: 0.3, env2_out: 0.4, env3_out: 0.5, step: 0 };
    writeFileSync(join(folder, "results.jsonl"), `${JSON.stringify(line)}\n`);
    expect(readResults([folder]).runs).toMatchObject([{ format: "swad", dataset: "vlcs", testDomains: ["LabelMe"] }]);
  });
});

test("of two runs with the same settings the finished one counts, and the other is reported", () => {
  inFolder((folder) => {
    const broken = writeRun(join(folder, "1"), { done: false, settings: { seed: 1 } });
    const finished = writeRun(join(folder, "2"), { settings: { seed: 2 } });
    const later = writeRun(join(folder, "3"), { settings: { seed: 3 } });
    const { runs, notes } = readResults([folder]);
    expect(runs.map(({ source }) => source)).toEqual([finished]);
    expect(notes).toEqual([
      expect.stringContaining(`${broken}: skipped: ${finished} is a run of the same setting (erm, trial 0)`),
      expect.stringContaining(`${later}: skipped: ${finished} is a run of the same setting`),
    ]);
  });
});

test("a folder that is given twice is read once", () => {
  inFolder((folder) => {
    writeRun(join(folder, "a"));
    const once = readResults([folder]);
    expect(readResults([folder, join(folder, "a")])).toEqual(once);
  });
});

test("a missing folder is an error; one without runs is reported", () => {
  inFolder((folder) => {
    expect(() => readResults([join(folder, "none")])).toThrow(DataError);
    expect(readResults([folder])).toEqual({ runs: [], stored: [], sweeps: [], notes: [`${folder}: no runs in it`] });
  });
});

test("lines and settings that are nested thousands deep, or of a later format, are named with their file, and the rest is read", () => {
  inFolder((folder) => {
    const deep = "[".repeat(20_000) + "]".repeat(20_000);
    const whole = writeRun(join(folder, "whole"));
    const records = join(whole, "records.jsonl");
    const rows = readFileSync(records, "utf8");
    writeFileSync(records, `{"step":${deep},"model":"current"}\n${rows}${deep}\n`);
    const nested = join(writeRun(join(folder, "nested")), "settings.json");
    writeFileSync(nested, `{"dataset":${deep}}`);
    const later = join(writeRun(join(folder, "later")), "settings.json");
    writeFileSync(later, JSON.stringify({ ...somePacsSettings, format: 2, dataset: { id: "pacs" } }));
    const { runs, notes } = readResults([folder]);
    expect(runs.map(({ source }) => source)).toEqual([whole]);
    expect(notes).toEqual([
      `skipped: ${later}: the settings of a run in format 2, and this version of NUDGE reads formats up to 1. Update NUDGE`,
      `skipped: ${nested}: not the settings of a run: expected "dataset" to be a name, got a value that is nested too deeply`,
      `${records}: skipped what is not a record: line 1: step is a value that is nested too deeply, not a count; line ${rows.split("\n").length + 1}: it is not a record`,
    ]);
  });
});
