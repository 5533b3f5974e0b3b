/**
 * Two runs that differ in one declared setting, or in one fact, never share a cell of a table, except where the
 * declaration says why they may.
 */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { writeMadeRun } from "../../tests/support/report-runs.js";
import { inFolder } from "../../tests/support/run-folders.js";
import { algorithms } from "../algorithms/index.js";
import { sharedHparams } from "../algorithms/shared-hparams.js";
import { followers } from "../averaging/index.js";
import { datasets } from "../data/datasets/index.js";
import { declared } from "../declared-settings/declared.js";
import { optimizers, schedules } from "../optim/index.js";
import type { Option, Options } from "../options.js";
import { regularizers } from "../regularizers/index.js";
import { readResults } from "./read-results.js";
import { makeReport } from "./report.js";

type Stored = Readonly<Record<string, unknown>>;

/** The rows of the table of two runs. */
function rowsOf(some: Stored, others: Stored, { sameTrial = false, model = "current" } = {}): string[] {
  return inFolder((folder) => {
    for (const [i, settings] of [some, others].entries())
      writeMadeRun(join(folder, String(i)), {
        ...{ heldOut: "sketch", trial: sameTrial ? 0 : i, accuracy: 0.5 + i / 10 },
        settings: { algorithm: "erm", hparams: {}, seed: i, ...settings },
        ...(settings.averaging ? { averaging: settings.averaging as [] } : {}),
        ...(settings.regularizers ? { regularizers: settings.regularizers as [] } : {}),
      });
    const { tables, outcome } = makeReport(readResults([folder]));
    const keys = new Set(outcome.methods.filter(({ method }) => method.model === model).map(({ key }) => key));
    return tables[0].rows.filter(({ method }) => keys.has(method)).map(({ title }) => title);
  });
}

const apart = (some: Stored, others: Stored, model?: string): boolean[] =>
  [true, false].map((sameTrial) => rowsOf(some, others, { sameTrial, model }).length === 2);

/** Two values of an option. */
function valuesOf({ kind, default: usual }: Option): [unknown, unknown] {
  if (kind.known && kind.known.length > 1 && kind.type !== "boolean") return [kind.known[0], kind.known[1]];
  if (kind.type === "boolean") return [true, false];
  if (kind.type === "list") return [["a"], ["b"]];
  if (kind.type === "string") return ["some", "other"];
  return typeof usual === "number" ? [usual, usual + 1] : [40, 50];
}

/** Settings that say which cell a run is in. */
const COORDINATES = ["testDomains", "seed", "trialSeed", "hparamsSeed"];

test("runs that differ in one setting of a run are in different rows, unless its declaration says why not", () => {
  const shared: string[] = [];
  for (const [name, setting] of Object.entries(declared)) {
    if (COORDINATES.includes(name) || setting.names || setting.stored === "never") continue;
    const values = valuesOf(setting);
    const [some, others] =
      setting.stored === "as part"
        ? [{}, { [name]: { id: values[1], settings: {} } }]
        : values.map((value) => ({ [name]: value }));
    const found = setting.model === undefined ? apart(some, others) : [];
    const reason = setting.pooled;
    if (reason !== undefined) shared.push(name);
    expect([name, found], reason).toEqual([name, found.map(() => reason === undefined)]);
  }
  // The settings whose declarations say that runs may share a cell; docs/reference/settings.md gives the reasons.
  expect(shared).toEqual([
    ...[
      "data",
      "root",
      "cache",
      "weights",
      "refit",
      "retrain",
      "evaluateTraining",
      "measures",
      "checkpointEvery",
      "keepCheckpoint",
    ],
    ...["testPictures", "device", "threads"],
  ]);
  const docs = readFileSync(join(import.meta.dirname, "../../docs/reference/settings.md"), "utf8");
  for (const name of shared) expect(docs).toContain(`| \`${name}\` | ${declared[name].pooled} |`);
});

test("runs that differ in one option of a penalty, an average, an optimizer or a schedule are in different rows", () => {
  const shared: string[] = [];
  const check = (id: string, options: Options, withPart: (settings: Stored) => Stored, model?: string): void => {
    const usual = Object.fromEntries(Object.entries(options).map(([name, each]) => [name, valuesOf(each)[0]]));
    for (const [name, each] of Object.entries(options)) {
      const found = apart(withPart(usual), withPart({ ...usual, [name]: valuesOf(each)[1] }), model);
      if (each.pooled !== undefined) shared.push(`${id}.${name}`);
      expect([`${id}.${name}`, found]).toEqual([
        `${id}.${name}`,
        [each.pooled === undefined, each.pooled === undefined],
      ]);
    }
  };
  for (const { id, hparams, settings } of Object.values(regularizers))
    check(id, { ...hparams, ...settings }, (values) => ({ regularizers: [{ id, settings: values }] }));
  for (const { id, settings } of Object.values(followers))
    check(id, settings, (values) => ({ averaging: [{ id, settings: values }] }), id);
  for (const { id, options } of Object.values(optimizers))
    check(id, options, (values) => ({ optimizer: { id, settings: values } }));
  for (const { id, options } of Object.values(schedules))
    check(id, options, (values) => ({ schedule: { id, settings: values } }));
  for (const [name, each] of Object.entries({
    ...sharedHparams({ dataset: "", size: "large" }),
    ...algorithms.mixup.hparams,
  } as Options))
    expect([
      name,
      apart(...(valuesOf(each).map((value) => ({ hparams: { [name]: value } })) as unknown as [Stored, Stored])),
    ]).toEqual([name, [true, true]]);
  for (const { options } of Object.values(datasets))
    for (const [name, each] of Object.entries(options as Options))
      expect(
        apart(
          ...(valuesOf(each).map((value) => ({ datasetOptions: { [name]: value } })) as unknown as [Stored, Stored]),
        ),
      ).toEqual([true, true]);
  expect(shared).toEqual(["swad.afterValley"]);
});

const samples = (hash: string, count: number) => ({ facts: { samples: { hash, count }, code: [] } });
const code = (helper: string, plugin = "1".repeat(64)) => ({
  plugins: [{ file: "mine.mjs", sha256: plugin }],
  facts: {
    samples: { hash: "s", count: 5 },
    code: [
      { file: "mine.mjs", sha256: plugin },
      { file: "lib/helper.mjs", sha256: helper },
    ],
  },
});

test("runs on other samples, from other weights and with other code are in different rows, named by what differs", () => {
  const both = (some: Stored, others: Stored): string[] => {
    expect(rowsOf(some, others, { sameTrial: true })).toEqual(rowsOf(some, others));
    return rowsOf(some, others);
  };
  expect(both(samples("aaaa", 1120), samples("bbbb", 560))).toEqual(["ERM [pictures=560]", "ERM [pictures=1120]"]);
  expect(both(samples("aaaaaaaaaa", 560), samples("bbbbbbbbbb", 560))).toEqual([
    "ERM [pictures=aaaaaaaa]",
    "ERM [pictures=bbbbbbbb]",
  ]);
  expect(
    both({ weights: "/w/v1.safetensors", weightsHash: "aa" }, { weights: "/w/augmix.safetensors", weightsHash: "bb" }),
  ).toEqual(["ERM [weights=augmix.safetensors]", "ERM [weights=v1.safetensors]"]);
  expect(both(code("a".repeat(64)), code("b".repeat(64)))).toEqual([
    "ERM [code=lib/helper.mjs@aaaaaaaa]",
    "ERM [code=lib/helper.mjs@bbbbbbbb]",
  ]);
  expect(both(code("a".repeat(64)), code("a".repeat(64), "2".repeat(64)))).toEqual([
    "ERM [code=mine.mjs@11111111]",
    "ERM [code=mine.mjs@22222222]",
  ]);
  const search = (momentum: number) => ({
    fixed: { optimizer: "{adam,sgd}" },
    hparamsSeed: 1,
    facts: { samples: { hash: "s", count: 5 }, code: [], options: { "sgd.momentum": momentum } },
  });
  expect(both(search(0.9), search(0.1))).toEqual(["ERM [sgd.momentum=0.1]", "ERM [sgd.momentum=0.9]"]);
  expect(both({ pretrained: true, nearDuplicates: "together" }, { pretrained: true })).toEqual([
    "ERM [nearDuplicates=ignore]",
    "ERM [nearDuplicates=together]",
  ]);
});

test("penalties are a set: their order makes no row", () => {
  const [a, b] = ["nuclear-norm", "l2-sp"].map((id) => ({ id, settings: { weight: 1 } }));
  expect(rowsOf({ regularizers: [a, b] }, { regularizers: [b, a] })).toHaveLength(1);
});

test("an unknown fact shares a row with unknown ones, and with one known value under a note", () => {
  expect(rowsOf({}, {})).toEqual(["ERM"]);
  expect(rowsOf(samples("aaaa", 5), {})).toEqual(["ERM"]);
  inFolder((folder) => {
    const write = (trial: number, settings: object): string =>
      writeMadeRun(folder, { heldOut: "sketch", trial, accuracy: 0.5, settings });
    write(0, samples("aaaa", 5));
    write(1, {});
    const notes = (): readonly string[] => makeReport(readResults([folder])).outcome.notes;
    expect(notes()).toEqual([
      "pacs: 1 run of an earlier version did not record their pictures; they share rows with runs that did, and may differ from these",
    ]);
    write(2, samples("bbbb", 6));
    expect(makeReport(readResults([folder])).tables[0].rows.map(({ title }) => title)).toEqual([
      ...["ERM [pictures=5]", "ERM [pictures=6]", "ERM [pictures=unknown]"],
    ]);
  });
});

test("folders of own pictures with the same name have tables of their own, and a changed folder rows of its own", () => {
  const own = { dataset: "image-folder", algorithm: "erm" };
  const titles = (settings: readonly Stored[]): string[][] =>
    inFolder((folder) => {
      for (const [trial, more] of settings.entries())
        writeMadeRun(folder, { heldOut: "sketch", trial, accuracy: 0.5, settings: { ...own, ...more } });
      const { tables } = makeReport(readResults([folder]));
      return tables.map(({ title, rows }) => [title, ...rows.map((row) => row.title)]);
    });
  const [a, b] = ["A/pics", "B/pics"].map((data) => ({ data }));
  expect(
    titles([
      { ...a, pictures: "1" },
      { ...b, pictures: "2" },
    ]),
  ).toEqual([
    ["pics (A/pics)", "ERM"],
    ["pics (B/pics)", "ERM"],
  ]);
  expect(
    titles([
      { ...a, pictures: "1" },
      { ...b, pictures: "1" },
    ]),
  ).toEqual([["pics", "ERM"]]); // moved or copied
  expect(
    titles([
      { ...a, pictures: "1" },
      { ...a, pictures: "2" },
    ]),
  ).toEqual([["pics", "ERM [pictures=1]", "ERM [pictures=2]"]]);
});
