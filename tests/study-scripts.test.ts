/** The scripts of docs/study.md on made-up sweeps whose answers are known. */

import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { office31 } from "../src/data/datasets/office-31.js";
import { pacs } from "../src/data/datasets/pacs.js";
import type { RunRecord } from "../src/records/record.js";
import { BLOCKS, CALIBRATED } from "../studies/rank-or-scale/blocks.mjs";
import { pacsDomains } from "./support/report-runs.js";
import { inFolder, writeRun } from "./support/run-folders.js";

const FOLDER = join(import.meta.dirname, "../studies/rank-or-scale");

interface Ended {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

const run = (script: string, ...args: string[]): Ended => runIn(process.cwd(), script, ...args);

function runIn(cwd: string, script: string, ...args: string[]): Ended {
  return spawnSync(process.execPath, [join(FOLDER, `${script}.mjs`), ...args], { cwd, encoding: "utf8" });
}

/** The algorithm of each method and its penalties. The weight that a run is made with is that of the last penalty. */
const METHODS = {
  ERM: ["erm"],
  "ERM-NU": ["erm", "nuclear-norm"],
  "ERM-FRO": ["erm", "frobenius-norm"],
  NormERM: ["normalized-erm"],
  "NormERM-NU": ["normalized-erm", "nuclear-norm"],
  "ERM-RATIO": ["erm", "norm-ratio"],
  "ERM-CNU": ["erm", "centred-nuclear-norm"],
  "ERM-ROW": ["erm", "row-norm"],
  "ERM-TOP": ["erm", "top-singular-value"],
  "ERM-LOWER": ["erm", "lower-singular-values"],
  "ERM-VAR": ["erm", "feature-variance"],
  "ERM-FRO on=logits": ["erm", "frobenius-norm"],
  "ERM-RAISE-FRO": ["erm", "rank-raising", "frobenius-norm"],
  ScaledERM: ["scaled-erm"],
} as const;

interface Made {
  readonly method: keyof typeof METHODS;
  readonly weight?: number;
  readonly backbone?: string;
  readonly fixed?: Record<string, number>;
  readonly trials?: readonly number[];
  readonly heldOut?: readonly string[];
  /** Late in training: on the held-out domain in a trial, and on validation pictures of the others. */
  readonly accuracy?: (trial: number) => number;
  readonly validation?: number;
  readonly norm?: number;
  readonly rank?: number;
}

/** Writes runs of seven evaluations. In the first half of training every value is another one, which must not count. */
function write(folder: string, made: Made): void {
  const { method, weight = 0.01, trials = [0], heldOut = pacsDomains, backbone = "mobilenet_v2" } = made;
  const { accuracy = () => 0.8, validation = 0.9, norm = 100, rank = 50 } = made;
  const [algorithm, ...penalties] = METHODS[method];
  const on = method.endsWith("on=logits") ? "logits" : "features";
  const regularizers = penalties.map((id, i) => ({
    id,
    settings: { weight: i === penalties.length - 1 ? weight : 0.1, warmup: 101, on },
  }));
  const hparams: Record<string, number> = method === "ScaledERM" ? { featureScale: weight, temperature: 1 } : {};
  for (const trial of trials)
    for (const domain of heldOut) {
      const records = [0, 100, 200, 300, 400, 500, 600].flatMap((step): RunRecord[] => {
        const of = (metric: string, where: string | null, split: "in" | "out", value: number): RunRecord => ({
          ...{ step, model: "current", domain: where, split, metric },
          value: step < 300 ? 0.1 : value,
        });
        const known = pacsDomains.flatMap((each) =>
          (["in", "out"] as const).map((split) =>
            of("accuracy", each, split, each === domain ? accuracy(trial) : validation),
          ),
        );
        return [
          ...known,
          of("frobeniusNorm", null, "out", norm),
          of("frobeniusNorm", domain, "out", 7),
          of("effectiveRank", null, "out", rank),
        ];
      });
      const settings = {
        ...{ algorithm, dataset: "pacs", domains: pacsDomains, testDomains: [domain], trialSeed: trial },
        ...{ backbone, averaging: [] },
        ...{ regularizers, hparams, fixed: made.fixed ?? {} },
        ...{ steps: 601, evaluateEvery: 100, holdout: 0.2 },
      };
      const name = `${method}-${weight}-${domain}-trial${trial}`;
      writeRun(join(folder, "runs", name), { settings, records });
    }
}

const range = (from: number, to: number): number[] => Array.from({ length: to - from + 1 }, (_, i) => from + i);

/** In trials 3 to 7, or to 16: noise of a tenth of a point about ERM plus a gain in points. */
const gaining =
  (gain: number, phase: number) =>
  (trial: number): number =>
    0.7 + trial / 1000 + gain / 100 + Math.sin(trial * phase) / 1000;

function writeStudy(folder: string, { last = 16, norm = 103 } = {}): void {
  const trials = range(3, 7);
  write(folder, { method: "ERM", trials, accuracy: gaining(0, 1), norm: 900, rank: 50 });
  write(folder, { method: "ERM-NU", trials, accuracy: gaining(1.7, 2), norm: 100, rank: 42 });
  write(folder, { method: "ERM-FRO", trials, weight: 0.042, accuracy: gaining(1.75, 3), norm, rank: 60 });
  write(folder, { method: "ERM-RATIO", trials, weight: 0.3, accuracy: gaining(-1, 4), norm: 1800, rank: 5 });
  write(folder, { method: "NormERM", trials: range(3, last), accuracy: gaining(1.2, 5), rank: 55 });
  write(folder, { method: "NormERM-NU", trials: range(3, last), accuracy: gaining(1.25, 6), rank: 44 });
}

test("the checks compare the late measures of the training domains, and print no accuracy", () => {
  inFolder((folder) => {
    writeStudy(folder, { last: 7 });
    const { status, stdout } = run("checks", folder);
    expect(status).toBe(0);
    expect(stdout.trim().split("\n").slice(2)).toEqual([
      "| PACS | P2 | ‖F‖_F | ERM-FRO 103.0 | ERM-NU 100.0 | +3.0 % | within ±5 % | 20 | passed |",
      "| PACS | P3 | effective rank | NormERM-NU 44.0 | NormERM 55.0 | -20.0 % | -10 % or lower | 20 | passed |",
      "| PACS | P4 | effective rank | ERM-RATIO 5.0 | ERM 50.0 | -90.0 % | -10 % or lower | 20 | passed |",
    ]);
  });
});

test("the measures are of the trials that all methods have, late in training", () => {
  inFolder((folder) => {
    writeStudy(folder, { last: 9 });
    const { stdout } = run("measures", folder);
    const [head, , ...rows] = stdout.trim().split("\n");
    expect(head.split(" | ").slice(0, 7)).toEqual([
      ...["| method", "dataset", "‖F‖_F", "‖F‖_\\*", "stable rank", "centred stable rank", "effective rank"],
    ]);
    expect(rows.map((row) => row.split(" | ")).map((row) => [row[0], row[2], row[3], row[6], row.at(-1)])).toEqual([
      ["| ERM", "900", "–", "50", "20 |"],
      ["| ERM-FRO", "103", "–", "60", "20 |"],
      ["| ERM-NU", "100", "–", "42", "20 |"],
      ["| ERM-RATIO", "1800", "–", "5", "20 |"],
      ["| NormERM", "100", "–", "55", "20 |"],
      ["| NormERM-NU", "100", "–", "44", "20 |"],
    ]);
  });
});

test("the result has the comparisons with their verdicts, and the rule that they meet", () => {
  inFolder((folder) => {
    writeStudy(folder);
    const figure = join(folder, "result.svg");
    const { stdout } = run("result", folder, "--figure", figure);
    expect(readFileSync(figure, "utf8")).toContain(">P3: NormERM-NU − NormERM</text>");
    const cells = stdout
      .split("\n")
      .filter((line) => line.startsWith("| P"))
      .map((line) => line.split(" | "));
    expect(cells.map((row) => [row[0], row[8], row[3]])).toEqual([
      ["| P1: ERM-NU − ERM", "5", "superior"],
      ["| P2: ERM-FRO − ERM-NU", "5", "equivalent"],
      ["| P3: NormERM-NU − NormERM", "14", "equivalent"],
      ["| P4: ERM-RATIO − ERM", "5", "inferior"],
      ["| P5: NormERM − ERM", "5", "superior"],
    ]);
    expect(stdout).toContain("The result on PACS meets the rule for scale of the design.");
  });
});

test("each held-out domain by itself has the difference late in training with its interval over trials", () => {
  inFolder((folder) => {
    const [near, far] = [pacsDomains.slice(0, 1), pacsDomains.slice(1)];
    const trials = [3, 4];
    write(folder, { method: "ERM", trials, accuracy: () => 0.7 });
    // Differences of 1 and 2 points: Student's interval is 1.5 ± 12.71 · 0.5.
    write(folder, { method: "ERM-NU", trials, heldOut: near, accuracy: (trial) => 0.7 + (trial - 2) / 100 });
    write(folder, { method: "ERM-NU", trials, heldOut: far, accuracy: () => 0.65 });
    const { status, stdout } = run("domains", folder);
    expect(status).toBe(0);
    const [head, , ...rows] = stdout.trim().split("\n");
    expect(head).toBe(`| comparison | dataset | ${pacsDomains.join(" | ")} | weighted by pictures |`);
    const same = "-5.00 (–)"; // all trials are equal
    // 2,048 of 9,991 pictures are paintings: -3.770 and -3.565, so -3.668 ± 12.71 · 0.1025.
    const weighted = "-3.67 (-4.97 … -2.37)";
    expect(rows).toEqual([
      `| P1: ERM-NU − ERM | PACS | +1.50 (-4.85 … +7.85) | ${same} | ${same} | ${same} | ${weighted} |`,
    ]);
  });
  expect(run("domains").status).toBe(2);
});

test("a comparison whose check failed is not counted", () => {
  inFolder((folder) => {
    writeStudy(folder, { norm: 106 });
    const { stdout } = run("result", folder);
    expect(stdout).toMatch(/P2: .* \| \(equivalent\) \| .* \| ‖F‖_F \+6\.0 %, failed \|/);
    expect(stdout).toContain("meets neither the rule for rank nor the rule for scale");
  });
});

test("no mean is printed before all planned trials are there", () => {
  inFolder((folder) => {
    writeStudy(folder, { last: 15 });
    const { status, stdout, stderr } = run("result", folder);
    expect([status, stdout]).toEqual([1, ""]);
    expect(stderr).toContain("P3 has 13 of 14 trials");
  });
});

/** With ‖F‖_F = 90·weight^(-1/2) under FRO, ERM-NU's norm of 300 is reached at (90/300)² = 0.09. */
function writeCalibration(folder: string): void {
  write(folder, { method: "ERM", validation: 0.95, norm: 900 });
  write(folder, { method: "ERM-NU", validation: 0.95, norm: 300 });
  for (const weight of [0.15, 0.015, 0.05])
    write(folder, { method: "ERM-FRO", weight, validation: 0.95, norm: 90 / Math.sqrt(weight) });
  for (const [weight, validation] of [
    [1, 0.93],
    [0.03, 0.949],
    [0.3, 0.941],
    [0.1, 0.945],
  ])
    write(folder, { method: "ERM-RATIO", weight, validation, norm: 1800 });
}

test("weights are set by the norm of ERM-NU and by validation accuracy, with rows in the order of weights", () => {
  inFolder((folder) => {
    writeCalibration(folder);
    const { status, stdout } = run("set-weights", folder);
    expect(status).toBe(0);
    expect(stdout.trim().split("\n")).toEqual([
      "ERM: ‖F‖_F 900.0, validation accuracy 95.00 %, 4 runs",
      "ERM-NU 0.01: ‖F‖_F 300.0, validation accuracy 95.00 %, 4 runs",
      "ERM-FRO 0.015: ‖F‖_F 734.8, validation accuracy 95.00 %, 4 runs",
      "ERM-FRO 0.05: ‖F‖_F 402.5, validation accuracy 95.00 %, 4 runs",
      "ERM-FRO 0.15: ‖F‖_F 232.4, validation accuracy 95.00 %, 4 runs",
      "ERM-RATIO 0.03: ‖F‖_F 1800.0, validation accuracy 94.90 %, 4 runs",
      "ERM-RATIO 0.1: ‖F‖_F 1800.0, validation accuracy 94.50 %, 4 runs",
      "ERM-RATIO 0.3: ‖F‖_F 1800.0, validation accuracy 94.10 %, 4 runs",
      "ERM-RATIO 1: ‖F‖_F 1800.0, validation accuracy 93.00 %, 4 runs",
      '"pacs mobilenet_v2": {"ERM-FRO":0.09,"ERM-RATIO":0.3}',
    ]);
  });
});

test("weights are not set from a sweep that is not finished", () => {
  inFolder((folder) => {
    writeCalibration(folder);
    write(folder, { method: "ERM-FRO", weight: 0.5, norm: 120, heldOut: ["photo"] });
    const { status, stdout, stderr } = run("set-weights", folder);
    expect(status).toBe(1);
    expect(stdout).not.toContain('"ERM-FRO"');
    expect(stderr).toContain("ERM-FRO 0.5 has runs with photo held out");
  });
});

/** Runs of a calibration in which the middle one of a row's values has ERM-NU's norm, for the calibrated rows of a block. */
function writeCalibrationOf(folder: string, block: string, backbone?: string): void {
  write(folder, { method: "ERM", backbone, norm: 900 });
  write(folder, { method: "ERM-NU", backbone, norm: 300 });
  for (const { name, values = [] } of CALIBRATED.filter((row) => BLOCKS[block].rows.includes(row)))
    for (const weight of values) {
      const method = name as keyof typeof METHODS;
      write(folder, { method, backbone, weight, norm: 300 * Math.sqrt(values[1] / weight) });
    }
}

test("every control that is matched in scale has the weight of ERM-NU's scale, and one that does not reach it has none", () => {
  inFolder((folder) => {
    writeCalibrationOf(folder, "controls");
    const { status, stdout } = run("set-weights", folder);
    expect(status).toBe(0);
    const matched = BLOCKS.controls.rows.filter(({ by }) => by === "scale");
    expect(matched).toHaveLength(8);
    const expected = Object.fromEntries(matched.map(({ name, values = [] }) => [name, values[1]]));
    expect(JSON.parse(`{${stdout.trim().split("\n").at(-1)}}`)).toEqual({ "pacs mobilenet_v2": expected });
  });
  inFolder((folder) => {
    write(folder, { method: "ERM-NU", norm: 300 });
    for (const weight of [0.02, 0.06]) write(folder, { method: "ERM-TOP", weight, norm: 400 - weight });
    const { status, stdout, stderr } = run("set-weights", folder);
    expect(status).toBe(1);
    expect(stdout).not.toContain('"ERM-TOP"');
    expect(stderr).toContain("ERM-TOP is not matched: its ‖F‖_F is 400.0, 399.9, and ERM-NU's, 300.0, is not between");
  });
});

test("the scale of the controls is checked against ERM-NU in the runs of another study", () => {
  inFolder((folder) => {
    const [first, controls] = ["first", "controls"].map((name) => join(folder, name));
    write(first, { method: "ERM-NU", trials: [3, 4], norm: 100 });
    write(controls, { method: "ERM-TOP", trials: [3], weight: 0.05, norm: 104 });
    write(controls, { method: "ERM-FRO on=logits", trials: [3], weight: 0.2, norm: 106 });
    write(controls, { method: "ERM-NU", trials: [3], fixed: { clipNorm: 1 }, weight: 0.02, norm: 900 }); // another method
    expect(run("checks", first, controls).stdout.trim().split("\n").slice(2)).toEqual([
      "| PACS | control | ‖F‖_F | ERM-TOP 104.0 | ERM-NU 100.0 | +4.0 % | within ±5 % | 4 | passed |",
      "| PACS | control | ‖F‖_F | ERM-FRO on=logits 106.0 | ERM-NU 100.0 | +6.0 % | within ±5 % | 4 | failed |",
    ]);
  });
});

/** The blocks of docs/study.md: the words that plan them, and the number of runs that the page has. */
const planned = readFileSync(join(import.meta.dirname, "../docs/study.md"), "utf8")
  .split("\n")
  .map((line) => line.split(" | "))
  .filter((cells) => cells.length === 6 && Number(cells[3]) > 0)
  .map(([, , words, runs]) => ({ words: words.replaceAll("`", ""), runs: Number(runs) }));

test("docs/study.md plans every block", () => {
  const names = new Set(planned.map(({ words }) => words.split(" ")[0]));
  expect([...names].sort()).toEqual(Object.keys(BLOCKS).sort());
});

test("every block is planned with the number of runs that docs/study.md has", { timeout: 300_000 }, () => {
  inFolder((folder) => {
    for (const [name, { published }] of Object.entries({ PACS: pacs, office31 }))
      for (const { name: domain } of published.domains)
        for (const label of published.classes as readonly string[]) {
          const place = join(folder, "data", name, domain, label);
          mkdirSync(place, { recursive: true });
          for (const i of [0, 1]) writeFileSync(join(place, `${i}.jpg`), ""); // planning does not read pictures
        }
    writeCalibrationOf(join(folder, "sweeps/calibration-controls"), "controls");
    writeCalibrationOf(join(folder, "sweeps/calibration-resnet18"), "backbone", "resnet18");
    for (const { words, runs } of planned) {
      const start = words.startsWith("misleading") ? [] : ["--", "--no-pretrained"];
      const out = words.includes("--calibrate") ? ["--out", join(folder, `planned ${words}`)] : [];
      const { stdout, stderr } = runIn(folder, "plan", ...words.split(" "), ...out, ...start);
      expect(stdout, `${words}: ${stderr}`).toMatch(new RegExp(`^${runs} runs in `));
    }
  });
});

test("a block whose weights are not set for the dataset and the backbone is not planned", () => {
  inFolder((folder) => {
    const { status, stdout, stderr } = runIn(folder, "plan", "dataset", "--data", "shapes", "--backbone", "small-cnn");
    expect([status, stdout]).toEqual([2, ""]);
    expect(stderr).toContain("ERM-FRO,ERM-RATIO: not calibrated for shapes with small-cnn yet");
    const calibration = join(folder, "calibration");
    write(calibration, { method: "ERM-NU", backbone: "small-cnn", norm: 300 });
    const words = ["dataset", "--data", "shapes", "--backbone", "small-cnn", "--calibration", calibration];
    expect(runIn(folder, "plan", ...words).stderr).toContain("not calibrated");
  });
});

test("recipes with three seeds count as the mean of all of them", () => {
  const script = join(FOLDER, "../recipes/all-seeds.mjs");
  const pack = join(FOLDER, "../../results/recipes-pacs.nudge");
  const { stdout } = spawnSync(process.execPath, [script, pack], { encoding: "utf8" });
  expect(stdout).toContain("| SWAD-NU | 81.8 | 81.7 | +0.61 (-0.19 … +1.42) |");
});
