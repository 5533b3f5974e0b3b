#!/usr/bin/env node
/**
 * Plans the study on emoji (docs/study-emoji.md) into a sweep's folder, which `nudge sweep run` then works on. Planned again it changes nothing.
 *
 *     node studies/emoji/plan.mjs --root data --calibrate                                 trial 0, which sets the weight of FRO: 16 runs
 *     node studies/emoji/plan.mjs --root data --calibration sweeps/calibration-emoji      trials 1 to 10: 120 runs
 *     node studies/emoji/plan.mjs --root data --only ERM,ERM-NU                           without FRO, if its scale was not matched
 *
 * --backbone resnet50_v1 --trials 1-3 --only ERM,ERM-NU plans the secondary runs. What follows `--` goes to every `nudge sweep plan`.
 */
import { parseArgs } from "node:util";
import { planParts } from "../plan-sweep.mjs";
import { calibrate } from "../rank-or-scale/calibration.mjs";
import { runsOf, stop } from "../rank-or-scale/study.mjs";
import { FRO_WEIGHTS, HELD_OUT, OPTIONS, TRAJECTORIES, TRIALS } from "./design.mjs";

const split = process.argv.indexOf("--");
const more = split < 0 ? [] : process.argv.slice(split + 1);
const { values } = parseArgs({
  args: process.argv.slice(2, split < 0 ? undefined : split),
  options: {
    root: { type: "string" },
    backbone: { type: "string", default: "mobilenet_v2" },
    trials: { type: "string", default: `${TRIALS[0]}-${TRIALS.at(-1)}` },
    only: { type: "string" },
    out: { type: "string" },
    calibrate: { type: "boolean", default: false },
    calibration: { type: "string" },
  },
});
const only = values.only?.split(",") ?? Object.keys(TRAJECTORIES);
const unknown = only.find((name) => !Object.hasOwn(TRAJECTORIES, name));
if (unknown !== undefined)
  stop(`plan: expected methods among ${Object.keys(TRAJECTORIES).join(", ")}, got "${unknown}"`);
const out = values.out ?? (values.calibrate ? "sweeps/calibration-emoji" : "sweeps/study-emoji");
const [from, to = from] = (values.calibrate ? "0" : values.trials).split("-").map(Number);
if (!(from <= to)) stop(`plan: expected --trials as a range such as 1-10, got ${values.trials}`);

/** The methods of a trial, with the settings that only they have. */
function trajectories() {
  if (values.calibrate) return [["ERM-NU"], ["ERM-FRO", "--grid", `frobenius-norm.weight=${FRO_WEIGHTS.join(",")}`]];
  const plain = only.filter((name) => name !== "ERM-FRO").flatMap((name) => TRAJECTORIES[name]);
  const fro = only.includes("ERM-FRO") ? [["ERM-FRO", `frobenius-norm.weight=${froWeight()}`]] : [];
  return [...(plain.length > 0 ? [[plain.join(",")]] : []), ...fro];
}

/** The weight of FRO that the calibration sets. */
function froWeight() {
  if (values.calibration === undefined)
    stop("plan: ERM-FRO needs its weight: first --calibrate, then --calibration with that sweep (docs/study-emoji.md)");
  const { weights, problems } = calibrate(runsOf(values.calibration));
  if (weights["ERM-FRO"] !== undefined) return weights["ERM-FRO"];
  return stop([...problems, "To plan the study without FRO: --only ERM,ERM-NU"].join("\n"), 1);
}

const common = [...OPTIONS, "--backbone", values.backbone, "--name", "study-emoji", "--out", out];
const root = values.root ? ["--root", values.root] : [];
const methods = trajectories();
const parts = Array.from({ length: to - from + 1 }, (_, i) => from + i).flatMap((trial) =>
  HELD_OUT.flatMap((style) =>
    methods.map(([names, ...own]) => [
      ...[...common, ...root, "--test-domains", style, "--trials", `${trial}-${trial}`, "--algorithms", names, ...own],
      ...more,
    ]),
  ),
);
const { asked, added, done } = await planParts(parts);
process.stdout.write(`${asked} runs in ${out}: ${added} of them new, ${done} done\nnudge sweep run ${out}\n`);
