import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { accuraciesAt, inFolder, writeRun } from "../../tests/support/run-folders.js";
import { datasets } from "../data/datasets/index.js";
import { readDomainBed, toDomainBed } from "./domainbed.js";
import { localNames, referenceDatasets } from "./domainbed-names.js";
import { evaluatedRuns, readRun } from "./run.js";

/** A line of the newest DomainBed, as §11.6 of the reference shows it. */
const newLine =
  '{"args": {"algorithm": "ERM", "checkpoint_freq": null, "data_dir": "data", "dataset": "PACS", "holdout_fraction": 0.2, ' +
  '"hparams": null, "hparams_seed": 3, "output_dir": "sweep/5d347171b86e3b941e8400685158edec", ' +
  '"save_model_every_checkpoint": false, "seed": 94828300, "skip_model_save": false, "steps": null, ' +
  '"task": "domain_generalization", "test_envs": [0], "trial_seed": 1, "uda_holdout_fraction": 0}, "env0_in_acc": 0.81, ' +
  '"env0_out_acc": 0.80, "env1_in_acc": 0.97, "env1_out_acc": 0.95, "env2_in_acc": 0.99, "env2_out_acc": 0.97, ' +
  '"env3_in_acc": 0.96, "env3_out_acc": 0.94, "epoch": 7.19, "hparams": {"batch_size": 32, "lr": 5e-05}, "loss": 0.21, ' +
  '"mem_gb": 9.5, "step": 300, "step_time": 0.25}\n';

/** One of 2020: fewer arguments, no memory; with a loss that Python writes as NaN, and that word in a string. */
const oldLine =
  '{"args": {"algorithm": "ERM", "data_dir": "NaN, \\"Infinity\\"", "dataset": "PACS", "hparams_seed": 3, "test_envs": [0, 2], ' +
  '"trial_seed": 1}, "env0_in_acc": 0.1, "env0_out_acc": 0.2, "env1_in_acc": 0.3, "env1_out_acc": NaN, "env2_in_acc": 0.5, ' +
  '"env2_out_acc": 0.6, "env3_in_acc": 0.7, "env3_out_acc": 0.8, "loss": -Infinity, "step": 0}\n';

const withFile = <T>(text: string, use: (path: string) => T): T =>
  inFolder((folder) => {
    const path = join(folder, "results.jsonl");
    writeFileSync(path, text);
    return use(path);
  });

test("old and new result lines are read, domains under this project's names", () => {
  withFile(newLine + oldLine, (path) => {
    const { runs, notes } = readDomainBed(path);
    expect(notes).toEqual([]);
    expect(runs).toHaveLength(2); // other test domains: another run in the same file
    const [single, pair] = runs;
    expect(single).toMatchObject({
      source: path,
      format: "domainbed",
      dataset: "pacs",
      domains: ["art_painting", "cartoon", "photo", "sketch"],
      testDomains: ["art_painting"],
      method: { algorithm: "ERM", regularizers: [], model: "current", fixed: {} },
      trialSeed: 1,
      hparamsSeed: 3,
    });
    expect(single.evaluations[0].step).toBe(300);
    expect(single.evaluations[0].accuracy.get("cartoon")).toEqual({ in: 0.97, out: 0.95 });
    expect(pair.testDomains).toEqual(["art_painting", "photo"]);
    expect(pair.evaluations[0].accuracy.get("cartoon")).toEqual({ in: 0.3, out: Number.NaN });
  });
});

test("lines of a run that was run again in the same folder are kept in the order of the file", () => {
  withFile(newLine + newLine.replace('"step": 300', '"step": 0') + newLine, (path) => {
    expect(readDomainBed(path).runs.map(({ evaluations }) => evaluations.map(({ step }) => step))).toEqual([
      [300, 0, 300],
    ]);
  });
});

test.each([
  ["not json", "1 line is not JSON and was skipped (line 1)"],
  ["3", "line 1 was skipped: it is not an object"],
  ['{"step": 1}', "args is missing, not an object"],
  [newLine.replace('"PACS"', "7"), "the dataset is 7"],
  [newLine.replace('"test_envs": [0]', '"test_envs": []'), "the test environments are []"],
  [newLine.replace('"test_envs": [0]', '"test_envs": [4]'), "there is no env4_out_acc"],
  [newLine.replace('"env0_in_acc": 0.81', '"env0_in_acc": "good"'), 'env0_in_acc is "good"'],
  [newLine.replace('"trial_seed": 1', '"trial_seed": -1'), "the trial seed is -1"],
  [newLine.replace('"step": 300', '"step": null'), "the step is null"],
])("a bad line does not affect the others: %s", (bad, words) => {
  withFile(`${bad.trimEnd()}\n${newLine}`, (path) => {
    const { runs, notes } = readDomainBed(path);
    expect(runs).toHaveLength(1);
    expect(notes).toHaveLength(1);
    expect(notes[0]).toContain(words);
    expect(notes[0]).toContain(path);
  });
});

test("a dataset this project does not have keeps its name", () => {
  expect(localNames("Debug28", 3)).toEqual({ dataset: "Debug28", domains: ["0", "1", "2"] });
  expect(localNames("Unheard", 2)).toEqual({ dataset: "Unheard", domains: ["env0", "env1"] });
});

test("names and headings of domains are those the datasets here declare, in the same order", () => {
  const shared = referenceDatasets.filter(({ id }) => id !== undefined);
  expect(shared.map(({ name }) => name)).toHaveLength(16);
  for (const { id, labels, domains } of shared) {
    const declared = datasets[id!].published!.domains;
    expect([id, domains, labels]).toEqual([id, declared.map(({ name }) => name), declared.map(({ label }) => label)]);
  }
});

test("a run is written as DomainBed writes it: sorted keys, Python's numbers, a newline on every line", () => {
  inFolder((folder) => {
    const records = [
      { step: 0, model: "current", domain: null, split: null, metric: "loss", value: 2 },
      ...accuraciesAt(0, 0.5),
      { step: 0, model: "current", domain: "sketch", split: "uda", metric: "accuracy", value: 1 },
      { step: 0, model: "current", domain: null, split: null, metric: "grad", value: Number.NaN },
    ] as const;
    const text = toDomainBed(
      readRun(writeRun(folder, { records, settings: { algorithm: "group-dro", trialSeed: 2 } })),
    );
    expect(text).toBe(
      '{"args": {"algorithm": "GroupDRO", "checkpoint_freq": null, "data_dir": "", "dataset": "PACS", ' +
        '"holdout_fraction": 0.2, "hparams": null, "hparams_seed": 0, "output_dir": "", ' +
        '"save_model_every_checkpoint": false, "seed": 0, "skip_model_save": false, "steps": null, ' +
        '"task": "domain_generalization", "test_envs": [3], "trial_seed": 2, "uda_holdout_fraction": 0}, ' +
        '"env0_in_acc": 0.5, "env0_out_acc": 0.25, "env0_uda_acc": 1.0, "env1_in_acc": 0.51, "env1_out_acc": 0.255, ' +
        '"env2_in_acc": 0.52, "env2_out_acc": 0.26, "env3_in_acc": 0.53, "env3_out_acc": 0.265, ' +
        '"hparams": {"batchSize": 32, "lr": 5e-05}, "loss": 2.0, "step": 0}\n',
    );
  });
});

test("a written run is read back unchanged", () => {
  inFolder((folder) => {
    const records = [
      ...accuraciesAt(0, 0.4),
      ...accuraciesAt(100, 1 / 3),
      ...accuraciesAt(100, 0.9, { model: "swad" }),
    ];
    const run = readRun(writeRun(join(folder, "own"), { records, settings: { testDomains: ["photo", "sketch"] } }));
    const [current, average] = evaluatedRuns(run).runs;
    for (const [model, own] of [
      ["current", current],
      ["swad", average],
    ] as const) {
      mkdirSync(join(folder, model));
      const path = join(folder, model, "results.jsonl");
      writeFileSync(path, toDomainBed(run, { model, algorithm: `ERM by ${model}` }));
      const [back] = readDomainBed(path).runs;
      expect(back).toEqual({
        ...own,
        source: path,
        format: "domainbed",
        hparams: run.settings.hparams,
        arguments: back.arguments,
        method: { algorithm: `ERM by ${model}`, regularizers: [], model: "current", fixed: {} },
      });
    }
  });
});

test("a regularizer makes another row", () => {
  inFolder((folder) => {
    const settings = { regularizers: [{ id: "nuclear-norm", settings: {} }] };
    expect(toDomainBed(readRun(writeRun(folder, { settings })))).toContain('"algorithm": "ERM+nuclear-norm"');
  });
});
