import { expect, test } from "vitest";
import { makeRun } from "../../tests/support/evaluated-runs.js";
import {
  type MadeRun,
  nuclearNormOn,
  pacsDomains,
  vlcsDomains,
  writeMadeRun,
} from "../../tests/support/report-runs.js";
import { inFolder } from "../../tests/support/run-folders.js";
import { parseFixed } from "../records/fixed-settings.js";
import { leaveOneDomainOut, trainingDomain } from "../selection/index.js";
import { makeTables, type TableOptions } from "./make-tables.js";
import { Outcome } from "./outcome.js";
import { type Results, readResults } from "./read-results.js";
import type { Table } from "./table.js";

const tablesOf = (runs: readonly MadeRun[], options: TableOptions = {}): Table[] =>
  inFolder((folder) => {
    for (const run of runs) writeMadeRun(folder, run);
    return makeTables(new Outcome(readResults([folder]), trainingDomain), options);
  });

const everyPacsDomain = (more: Omit<MadeRun, "heldOut">): MadeRun[] =>
  pacsDomains.map((heldOut) => ({ heldOut, ...more }));

const byHand = (runs: Results["runs"]): Results => ({ runs, stored: [], notes: [] });

test("a cell is the mean and standard error over trials of what selection chose", () => {
  const [table] = tablesOf([0.1, 0.2, 0.3].flatMap((accuracy, trial) => everyPacsDomain({ trial, accuracy })));
  expect(table.columns).toEqual(["A", "C", "P", "S", "Average"]);
  const [first, , , , average] = table.rows[0].cells;
  // 100 · std/√3 of (0.1, 0.2, 0.3) is 4.714, the example of DomainBed
  expect(first.mean).toBeCloseTo(0.2, 12);
  expect(first.error).toBeCloseTo(0.04714045207910317, 12);
  expect(first.trials).toEqual([3, 3]);
  expect(average).toMatchObject({ error: null, note: null });
  expect(average.mean).toBeCloseTo(0.2, 12);
});

test("an empty cell says why and which command fills it, and has no average", () => {
  const runs = everyPacsDomain({ trial: 2, accuracy: 0.5, regularizers: nuclearNormOn }).slice(0, 3);
  const [{ rows, notes }] = tablesOf(runs);
  expect(rows[0].title).toBe("ERM-NU");
  const [, , , sketch, average] = rows[0].cells;
  expect([sketch.mean, average.mean]).toEqual([null, null]);
  expect(notes[sketch.note! - 1]).toBe(
    "ERM-NU, sketch held out: there is no run; run it with: nudge train --data pacs --test-domain sketch " +
      "--algorithm erm --regularizer nuclear-norm --trial-seed 2",
  );
  expect(notes[average.note! - 1]).toContain("a cell of the row is empty");
});

test("a missing run is to have the seed that the others of its trial have, as in a sweep", () => {
  const settings = { seed: 2 };
  const [{ rows, notes }] = tablesOf([
    ...everyPacsDomain({ trial: 2, accuracy: 0.5, settings }),
    ...everyPacsDomain({ trial: 2, accuracy: 0.5, regularizers: nuclearNormOn, settings }).slice(1),
  ]);
  expect(notes[rows[1].cells[0].note! - 1]).toMatch(/--trial-seed 2 --seed 2$/);
});

test("a domain that no method held out has one note for the whole column", () => {
  const [{ rows, notes }] = tablesOf([
    { heldOut: "sketch", trial: 0, accuracy: 0.5 },
    { heldOut: "sketch", trial: 0, accuracy: 0.6, regularizers: nuclearNormOn },
  ]);
  for (const { cells } of rows) expect(cells.map(({ note }) => note)).toEqual([1, 2, 3, null, 4]);
  expect(notes[1]).toBe(
    "cartoon held out: no method has a run; start with: nudge train --data pacs --test-domain cartoon --algorithm erm --trial-seed 0",
  );
});

test("a cell with fewer trials than others says how many, and which are missing", () => {
  const [{ rows, notes }] = tablesOf([
    ...[0, 1, 2].flatMap((trial) => everyPacsDomain({ trial, accuracy: 0.5 })),
    ...everyPacsDomain({ trial: 1, accuracy: 0.9, regularizers: nuclearNormOn }),
  ]);
  const [cell] = rows[1].cells;
  expect(cell).toMatchObject({ trials: [1, 3], mark: null, mean: 0.9 });
  expect(notes[cell.note! - 1]).toContain("no run in trial 0, 2 (1 of 3 trials exist)");
  expect(notes[cell.note! - 1]).toMatch(/--trial-seed 0; likewise --trial-seed 2$/);
});

test("where cross-validation lacks a run with two domains held out, the note names both", () => {
  const run = makeRun(["a"], [{ a: [0.2, 0.1], b: [0, 0.3], c: [0, 0.4] }]);
  const pair = makeRun(["a", "b"], [{ a: [0.2, 0.1], b: [0.5, 0.3], c: [0, 0.4] }]);
  const [{ rows, notes }] = makeTables(new Outcome(byHand([run, pair]), leaveOneDomainOut));
  expect(rows[0].cells[0].mean).toBeNull();
  expect(notes[rows[0].cells[0].note! - 1]).toContain("also needs runs with a and c held out together; run it with: ");
  expect(notes[rows[0].cells[0].note! - 1]).toContain("--data letters --test-domain a,c");
});

test("rows stand in the paper's order whatever the folders are called", () => {
  const at = { a: [0.2, 0.1], b: [0, 0.3], c: [0, 0.4] } as const;
  const method = (algorithm: string, regularizers: string[] = [], model = "current") =>
    makeRun(["a"], [at], { method: { algorithm, regularizers, model, fixed: {} } });
  const runs = [
    method("mixup", ["nuclear-norm"]),
    method("erm", ["nuclear-norm"], "swad"),
    method("coral", [], "swad"),
    method("erm", ["nuclear-norm"]),
    method("Unheard"),
    method("mixup"),
    method("erm", [], "swad"),
    method("erm"),
  ];
  const [{ rows }] = makeTables(new Outcome(byHand(runs), trainingDomain));
  expect(rows.map(({ title }) => title)).toEqual(
    "ERM,ERM-NU,Mixup,Mixup-NU,Unheard,SWAD,SWAD-NU,SWAD-CORAL".split(","),
  );
});

test("rows that differ in a number stand in its order", () => {
  const at = { a: [0.2, 0.1], b: [0, 0.3], c: [0, 0.4] } as const;
  const runs = ["lr=10", "", "lr=0.5", "lr=5", "steps=9", "lr=1e-7"]
    .map(parseFixed)
    .map((fixed) => makeRun(["a"], [at], { method: { algorithm: "erm", regularizers: [], model: "current", fixed } }));
  const [{ rows }] = makeTables(new Outcome(byHand(runs), trainingDomain));
  const titles = ["ERM", ...["lr=1e-7", "lr=0.5", "lr=5", "lr=10", "steps=9"].map((word) => `ERM [${word}]`)];
  expect(rows.map(({ title }) => title)).toEqual(titles);
});

test("with two datasets there is a table of averages, over trials of the domains' means", () => {
  const vlcs = { dataset: "vlcs", domains: vlcsDomains };
  const tables = tablesOf([
    ...[0, 1].flatMap((trial) => everyPacsDomain({ trial, accuracy: 0.5 + trial / 10 })),
    ...vlcsDomains.map((heldOut) => ({ ...vlcs, heldOut, trial: 0, accuracy: 0.75 })),
  ]);
  expect(tables.map(({ id }) => id)).toEqual(["vlcs", "pacs", "averages"]);
  const { columns, rows } = tables[2];
  expect(columns).toEqual(["VLCS", "PACS", "Average"]);
  expect(rows[0].cells.map(({ mean }) => mean)).toEqual([0.75, 0.55, 0.65]);
  expect(rows[0].cells[1].error).toBeCloseTo(0.05 / Math.sqrt(2), 12);
});

test("averages of SWAD's methods have a table of their own", () => {
  const averaging = [{ id: "swad", settings: {} }];
  const ids = tablesOf(
    [[], nuclearNormOn].flatMap((regularizers) => [
      ...everyPacsDomain({ trial: 0, accuracy: 0.5, averaging, regularizers }),
      { dataset: "vlcs", domains: vlcsDomains, heldOut: "SUN09", trial: 0, accuracy: 0.5, averaging, regularizers },
    ]),
  ).map(({ id, rows }) => [id, rows.map(({ title }) => title).join(" ")]);
  expect(ids.slice(2)).toEqual([
    ["averages", "ERM ERM-NU SWAD SWAD-NU"],
    ["swad", "SWAD SWAD-NU"],
  ]);
});

test("published numbers stand under ours with the difference and the source", () => {
  const [{ rows, notes }] = tablesOf(everyPacsDomain({ trial: 0, accuracy: 0.9 }), { published: true });
  expect(rows.map(({ kind }) => kind)).toEqual(["own", "published", "difference"]);
  const [, published, difference] = rows.map(({ cells }) => cells);
  expect(published[0]).toMatchObject({ mean: 0.847, error: 0.004 }); // ERM on PACS A: 84.7 ± 0.4
  expect(difference[0].mean).toBeCloseTo(0.053, 12);
  expect(notes[published[0].note! - 1]).toBe("published: DomainBed (Gulrajani & Lopez-Paz 2021); tab:pacs");
});

test("two datasets of one name with different domains are never put in one table", () => {
  const other = makeRun(["x"], [{ x: [0.2, 0.1], y: [0, 0.3] }], { domains: ["x", "y"] });
  const outcome = new Outcome(
    byHand([makeRun(["a"], [{ a: [0.2, 0.1], b: [0, 0.3], c: [0, 0.4] }]), other]),
    trainingDomain,
  );
  expect(makeTables(outcome).map(({ title }) => title)).toEqual([
    "letters (a, b, c)",
    "letters (x, y)",
    "Averages over datasets",
  ]);
  expect(outcome.notes.join()).toContain("2 datasets have the name letters");
});

test("the words above a table give rule, protocol and penalty as the runs had them", () => {
  const [{ words }] = tablesOf(everyPacsDomain({ trial: 0, accuracy: 0.5, regularizers: nuclearNormOn }));
  expect(words[0]).toMatch(/^Selection: training-domain validation set, that is, /);
  expect(words.join("\n")).toContain("4 runs: 201 steps, evaluated every 100, 20 % of each domain for validation");
  expect(words).toContain("Penalty nuclear-norm: weight=0.01 scaling=per-sample warmup=101.");
  expect(words.join()).not.toContain("never became active");
});

test("the weights of a penalty that a search drew are reported as their range", () => {
  const runs = [0.0123456, 0.003, 0.02987].flatMap((weight, trial) =>
    everyPacsDomain({
      trial,
      accuracy: 0.5,
      regularizers: [{ id: "nuclear-norm", settings: { weight, warmup: 101 } }],
    }),
  );
  expect(tablesOf(runs)[0].words).toContain("Penalty nuclear-norm: warmup=101, weight=0.003 … 0.03.");
});

test("runs that ended before their penalty became active are reported as runs of the plain method", () => {
  const settings = { steps: 101 } as MadeRun["settings"];
  const [{ words }] = tablesOf(everyPacsDomain({ trial: 0, accuracy: 0.5, regularizers: nuclearNormOn, settings }));
  expect(words.join("\n")).toContain("In 4 of the runs with a penalty, the penalty never became active");
});

test("methods whose own penalty is annealed beyond the end of their runs are named", () => {
  const ends = { fishr: 1500, vrex: 101, irm: 100 };
  const runs = Object.entries(ends).map(([algorithm, annealSteps], i): MadeRun => {
    const settings = { algorithm, steps: 101, hparams: { annealSteps } };
    return { heldOut: pacsDomains[i], trial: 0, accuracy: 0.5, settings };
  });
  const [{ words }] = tablesOf(runs);
  expect(words.filter((line) => line.includes("annealSteps"))).toEqual([
    "These methods ended before annealSteps, when their own penalty reaches its full weight: VREx (101), Fishr (1500).",
  ]);
});

test("a probe is reported, because its backbone is not trained", () => {
  const probe = { backbone: "mobilenet_v2", pretrained: true, probe: true } as MadeRun["settings"];
  const runs = everyPacsDomain({ trial: 0, accuracy: 0.5, settings: probe });
  const frozen = "backbone mobilenet_v2 from pretrained weights, frozen, with a trained linear map on its features";
  expect(tablesOf(runs)[0].words.join()).toContain(frozen);
  const mixed = [
    ...runs,
    ...everyPacsDomain({ trial: 1, accuracy: 0.5, settings: { ...probe, probe: undefined } as MadeRun["settings"] }),
  ];
  expect(tablesOf(mixed)[0].words.join()).toContain(", in 4 of them frozen, with");
});

test("an exact probe has its own name and no steps", () => {
  const fixed = { probe: "exact", probeC: 0.01 };
  const settings = {
    backbone: "mobilenet_v2",
    pretrained: true,
    probe: "exact",
    steps: 1,
    fixed,
  } as MadeRun["settings"];
  const exact = everyPacsDomain({ trial: 0, accuracy: 0.5, settings });
  const [{ rows, words }] = tablesOf(exact);
  expect(rows.map(({ title }) => title)).toEqual(["exact probe"]);
  expect(words.join()).toContain("pretrained weights, frozen, with logistic regression on its features");
  expect(words.join()).not.toMatch(/\d steps?\b/);
  const other = everyPacsDomain({ trial: 1, accuracy: 0.5, settings: { steps: 1 } as MadeRun["settings"] });
  const [both] = tablesOf([...exact, ...other]);
  expect(both.rows.map(({ title }) => title)).toEqual(["ERM", "exact probe [probeC=0.01]"]);
  expect(both.words.join()).toContain("8 runs: 1 step, evaluated every");
});

test("what all runs have set by hand stands above the table, what some have in their titles and commands", () => {
  const fixed = { steps: 9, "data.root": "my pictures" };
  const [{ rows, words, notes }] = tablesOf([
    { heldOut: "photo", trial: 0, accuracy: 0.5, settings: { fixed } },
    { heldOut: "photo", trial: 1, accuracy: 0.5, settings: { fixed: { ...fixed, lr: 0.1 } } },
  ]);
  expect(rows.map(({ title }) => title)).toEqual(["ERM", "ERM [lr=0.1]"]);
  expect(words.join()).toContain('Set explicitly in all of them: data.root="my pictures" steps=9.');
  expect(notes.join("\n")).toContain("--trial-seed 0 steps=9 'data.root=my pictures' lr=0.1");
});
