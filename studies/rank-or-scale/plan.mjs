#!/usr/bin/env node
/**
 * Plans a block of the study "rank or scale" (docs/study.md) into a sweep's folder, which `nudge sweep run` then works on. Planned
 * again it changes nothing; with more trials it keeps what is there.
 *
 *     node studies/rank-or-scale/plan.mjs primary --data pacs --root data --trials 3-7 --out sweeps/study-pacs
 *     node studies/rank-or-scale/plan.mjs primary --data office31 --root data --trials 1-5 --out sweeps/study-office31
 *     export NUDGE_PLUGINS=…      printed at the end: sweep run and report need the study's plug-ins
 *
 * Another dataset is another --data; its weights of the penalties are set as the page says (`calibration` plans those runs).
 * Runs are planned trial by trial, so that a sweep that is stopped has whole trials. --only ERM,ERM-NU plans these methods of the block. What follows `--` goes to every `nudge sweep plan`, such as `-- --steps 300 --backbone resnet18`.
 */
import { parseArgs } from "node:util";
import { nudge, plugins, stop } from "./study.mjs";

/** A method as it is named on the command line, and the settings of its penalty. @typedef {readonly [name: string, ...settings: string[]]} Row */

/** Weights of the penalties, by dataset: set on trials that are not analysed (docs/study.md). */
const WEIGHTS = {
  pacs: { frobenius: 0.042, ratio: 0.3 },
  office31: { frobenius: 0.041, ratio: 1 },
};

/** @param {{ frobenius: number, ratio: number }} weights @returns {Record<string, readonly Row[]>} */
const blocks = ({ frobenius, ratio }) => ({
  primary: [
    ["ERM"],
    ["ERM-NU"],
    ["ERM-FRO", `frobenius-norm.weight=${frobenius}`],
    ["NormERM"],
    ["NormERM-NU"],
    ["ERM-RATIO", `norm-ratio.weight=${ratio}`],
  ],
  calibration: [
    ["ERM-FRO", "--grid", "frobenius-norm.weight=0.015,0.05,0.15"],
    ["ERM-RATIO", "--grid", "norm-ratio.weight=0.03,0.1,0.3,1"],
  ],
  controls: [
    ["ERM-CNU"],
    ["ERM-ROW", "--grid", "row-norm.weight=0.002,0.005"],
    ["ERM-TOP", "--grid", "top-singular-value.weight=0.02,0.05"],
    ["ERM-LOWER", "--grid", "lower-singular-values.weight=0.005,0.01"],
    ["ERM-VAR", "--grid", "feature-variance.weight=0.01,0.05"],
    ["ERM-FRO", "--grid", "frobenius-norm.weight=0.05,0.2", "frobenius-norm.on=logits"],
    ["ERM-RAISE-FRO", `frobenius-norm.weight=${frobenius}`],
    ["ScaledERM", "--grid", "scaled-erm.featureScale=0.1,0.2"],
    ["ScaledERM", "--grid", "scaled-erm.temperature=2,5"],
  ],
});

const split = process.argv.indexOf("--");
const own = process.argv.slice(2, split < 0 ? undefined : split);
const more = split < 0 ? [] : process.argv.slice(split + 1);
const { positionals, values } = parseArgs({
  args: own,
  allowPositionals: true,
  options: {
    data: { type: "string" },
    root: { type: "string" },
    trials: { type: "string" },
    out: { type: "string" },
    only: { type: "string" },
  },
});
const { data = "pacs", root, trials = "3-7", out = `sweeps/study-${data}`, only } = values;
const weights = Object.hasOwn(WEIGHTS, data) ? WEIGHTS[/** @type {keyof typeof WEIGHTS} */ (data)] : WEIGHTS.pacs;
const block = blocks(weights)[positionals[0] ?? ""];
if (!block) stop(`plan: expected a block, one of ${Object.keys(blocks(weights)).join(", ")}; see the top of the file`);
const [first = 0, last = first] = trials.split("-").map(Number);
if (!(first <= last)) stop(`plan: expected --trials as a range such as 3-7, got ${trials}`);
const common = [
  "--precision",
  "bf16",
  "--steps",
  "2001",
  "--eval-every",
  "200",
  "evaluateTraining=false",
  "measures=all",
];
const where = ["--data", data, ...(root ? ["--root", root] : []), "--name", `study-${data}`, "--out", out];
for (let trial = first; trial <= last; trial++)
  for (const [method, ...settings] of block) {
    if (only && !only.split(",").includes(method)) continue;
    const args = ["sweep", "plan", ...where, "--algorithms", method, "--trials", `${trial}-${trial}`, "--no-measure"];
    nudge([...args, "--backbone", "mobilenet_v2", ...common, ...settings, ...more]);
  }
process.stdout.write(`export NUDGE_PLUGINS=${plugins}\nnudge sweep run ${out}\n`);
