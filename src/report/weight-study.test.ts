import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { pacsDomains, writeMadeRun } from "../../tests/support/report-runs.js";
import { inFolder } from "../../tests/support/run-folders.js";
import { formatRecord } from "../records/record.js";
import { trainingDomain } from "../selection/index.js";
import { toHtml } from "./html.js";
import { toJson } from "./json.js";
import { toLatex } from "./latex.js";
import { toMarkdown } from "./markdown.js";
import { Outcome } from "./outcome.js";
import { readResults } from "./read-results.js";
import { makeReport, type Report } from "./report.js";
import { type WeightStudy, weightStudies } from "./weight-study.js";

/** ERM with a penalty or weight decay of some weight, or without. */
interface Made {
  readonly penalty?: string;
  readonly weight?: number;
  readonly scaling?: "per-sample" | "sum";
  readonly warmup?: number;
  readonly accuracy?: number;
  /** The gain in accuracy from trial to trial. */
  readonly perTrial?: number;
  readonly trials?: readonly number[];
  readonly heldOut?: readonly string[];
  readonly algorithm?: string;
}

/** The norm of its features is 1000 − 1000 · weight on training domains, and half of that on the held-out one; 7 at other steps. */
function write(folder: string, made: Made): void {
  const { penalty, weight = 0, scaling = "per-sample", warmup = 0, accuracy = 0.5, perTrial = 0.01 } = made;
  const { algorithm = "erm" } = made;
  const decays = penalty === "weightDecay";
  const fixed: Record<string, string | number> = {
    ...(penalty !== undefined && weight !== 0.01 ? { [decays ? penalty : `${penalty}.weight`]: weight } : {}),
    ...(scaling === "sum" ? { [`${penalty}.scaling`]: scaling } : {}),
  };
  const regularizers = penalty === undefined || decays ? [] : [{ id: penalty, settings: { weight, scaling, warmup } }];
  for (const heldOut of made.heldOut ?? pacsDomains)
    for (const trial of made.trials ?? [0]) {
      const settings = {
        ...{ fixed, algorithm, splitHash: `split${trial}` },
        hparams: { batchSize: 32, weightDecay: decays ? weight : 0 },
      };
      const inside = join(folder, `${algorithm} ${penalty} ${scaling} ${weight}`);
      const run = writeMadeRun(inside, {
        heldOut,
        trial,
        accuracy: accuracy + trial * perTrial,
        regularizers,
        settings,
      });
      const rows = [0, 100, 200].flatMap((step) =>
        [null, heldOut].map((domain) => {
          const value = step !== 100 ? 7 : (1000 - 1000 * weight) / (domain === null ? 1 : 2);
          return formatRecord({ step, domain, value, model: "current", split: "out", metric: "frobeniusNorm" });
        }),
      );
      appendFileSync(join(run, "records.jsonl"), rows.join(""));
    }
}

const studiesOf = (made: readonly Made[]): WeightStudy[] =>
  inFolder((folder) => {
    for (const each of made) write(folder, each);
    return weightStudies(new Outcome(readResults([folder]), trainingDomain));
  });

const nu = (weight: number, more: Made = {}): Made => ({ penalty: "nuclear-norm", weight, ...more });

test("every weight is a setting of its own, lightest first, and both scalings have a place on one axis", () => {
  const [study, ...more] = studiesOf([
    ...[nu(0.1), nu(0.01), nu(0.003, { scaling: "sum" }), nu(0.01, { scaling: "sum" })],
    ...[{}, { penalty: "weightDecay", weight: 0.001 }, { penalty: "frobenius-norm", weight: 0.05 }],
  ]);
  expect(more).toEqual([]);
  expect(study).toMatchObject({ title: "ERM on PACS", plain: "ERM", domains: ["A", "C", "P", "S"], rows: 96 });
  expect(
    study.kinds.map(({ title, settings }) => [title, settings.map(({ weight, perSample }) => [weight, perSample])]),
  ).toEqual([
    ["nuclear-norm", [0.01, 0.1].map((weight) => [weight, weight])],
    [
      "nuclear-norm scaling=sum", // 3 training domains of 32 rows
      [
        [0.003, 0.288],
        [0.01, 0.96],
      ],
    ],
    ["frobenius-norm", [[0.05, 0.05]]],
    ["weight decay", [[0.001, null]]],
  ]);
});

test("a loss of one domain's rows has a penalty of as many", () => {
  const sums = [0.001, 0.01].map((weight) => nu(weight, { scaling: "sum", algorithm: "mldg" }));
  expect(studiesOf(sums)[0]).toMatchObject({ title: "MLDG on PACS", baseline: null, rows: 32 });
});

test("accuracy and features are those of the chosen step, and differences are paired with their interval", () => {
  const trials = [0, 1];
  const [{ baseline, kinds }] = studiesOf([
    { trials, accuracy: 0.5 },
    nu(0.1, { trials, accuracy: 0.53, perTrial: 0.02 }),
    nu(0.2, { trials, accuracy: 0.49 }),
  ]);
  expect(baseline).toMatchObject({ weight: 0, difference: null, step: 100 });
  // Steps 100 and 200; the accuracy at the later one is 5 points lower: 0.505 and 0.455. The norms of the features there are 1000 and 7.
  expect(baseline?.late).toEqual({ accuracy: expect.closeTo(0.48, 12), size: 503.5, difference: null });
  expect(baseline?.accuracy).toBeCloseTo(0.505, 12);
  const [{ accuracies, difference, features }] = kinds[0].settings;
  expect(accuracies.map((value) => value.toFixed(3))).toEqual(Array(4).fill("0.540"));
  expect(difference).toMatchObject({
    mean: expect.closeTo(0.035, 12), // 0.03 and 0.04; t with one degree of freedom is 12.706
    interval: [expect.closeTo(0.035 - 12.706205 * 0.005, 6), expect.closeTo(0.035 + 12.706205 * 0.005, 6)],
    trials: 2,
    pairs: 8,
  });
  expect(kinds[0].settings[1].late.difference).toMatchObject({ mean: expect.closeTo(-0.01, 12), pairs: 8 });
  expect(features["training domains"].frobeniusNorm).toBeCloseTo(900, 9);
  expect(features["held-out domain"].frobeniusNorm).toBeCloseTo(450, 9);
  expect(features["held-out domain"].stableRank).toBeNull(); // not recorded
});

test("settings are compared on the trials that all have, and one with a missing run is skipped and reported", () => {
  const [{ trials, baseline, kinds, notes }] = studiesOf([
    { trials: [0, 1, 2] },
    nu(0.01, { trials: [0, 1] }),
    nu(0.1, { trials: [1, 0] }),
    nu(0.2, { trials: [0, 1], heldOut: pacsDomains.slice(1) }),
  ]);
  expect(trials).toEqual([0, 1]);
  expect(baseline?.accuracy).toBeCloseTo(0.505, 12); // with the third trial it would be 0.51
  expect(kinds[0].settings.map(({ weight }) => weight)).toEqual([0.01, 0.1]);
  expect(notes).toEqual([
    "ERM-NU [weight=0.2] was skipped: it does not have every held-out domain in the same trials",
    "nuclear-norm, weight 0.01; nuclear-norm, weight 0.01, second half of training; nuclear-norm, weight 0.1; nuclear-norm, weight 0.1, second half of training: the differences of all 2 trials are equal, so their spread is not known and there is no interval",
  ]);
});

test("settings with more trials than all have are compared on theirs as well", () => {
  const trials = [0, 2];
  const [all, longer, ...more] = studiesOf([
    ...[{ trials: [0, 1, 2] }, nu(0.01, { trials }), nu(0.1)],
    { penalty: "frobenius-norm", weight: 0.05, trials },
  ]);
  expect(more).toEqual([]);
  expect([all.title, all.trials]).toEqual(["ERM on PACS", [0]]);
  expect([longer.title, longer.trials]).toEqual(["ERM on PACS, trials 0, 2", [0, 2]]);
  expect(all.notes).toEqual([]);
  expect(longer.kinds.map(({ title, settings }) => [title, settings.map(({ weight }) => weight)])).toEqual([
    ["nuclear-norm", [0.01]],
    ["frobenius-norm", [0.05]],
  ]);
  expect(longer.kinds[0].settings[0].difference?.pairs).toBe(8);
});

test("where selection chose a model from before the penalty set in, a note says so", () => {
  const warmups = [100, 101].map((warmup) => nu(warmup === 100 ? 0.01 : 0.1, { warmup }));
  expect(studiesOf([{}, ...warmups])[0].notes).toEqual([
    "nuclear-norm, weight 0.1: in 4 of 4 runs, selection chose a step before the penalty became active, so these are equal to the plain method",
  ]);
});

test("one weight of each penalty is no study, nor are two on different trials", () => {
  expect(studiesOf([{}, nu(0.01), { penalty: "frobenius-norm", weight: 0.05 }])).toEqual([]);
  expect(studiesOf([{}, nu(0.01), nu(0.1, { trials: [1] })])).toEqual([]);
});

test("comparisons in a study's table are not repeated pair by pair, except for the default weight", () => {
  const report = (options: Parameters<typeof makeReport>[1]): Report =>
    inFolder((folder) => {
      for (const made of [{}, nu(0.01), nu(0.1)]) write(folder, made);
      return makeReport(readResults([folder]), options);
    });
  const { comparisons, tables } = report({});
  expect(comparisons.map(({ first }) => first)).toEqual(["ERM-NU"]);
  expect(tables[0].rows.map(({ title }) => title)).toEqual(["ERM", "ERM-NU", "ERM-NU [weight=0.1]"]);
  expect(tables[0].words).toContain(
    "Penalty nuclear-norm: scaling=per-sample warmup=0, weight=0.01 except where a row shows another value.",
  );
  for (const text of [toMarkdown, toHtml, toLatex].map((format) => format(report({}))))
    expect(text).toContain("Weights: ERM on PACS");
  expect(JSON.parse(toJson(report({}))).weights[0].kinds[0].settings).toHaveLength(2);
  const alone = report({ only: ["weights"] });
  expect([alone.tables, alone.comparisons, alone.features]).toEqual([[], [], []]);
  expect(alone.weights).toHaveLength(1);
});
