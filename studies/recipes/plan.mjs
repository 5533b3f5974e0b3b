#!/usr/bin/env node
/**
 * Plans the study of training recipes into a sweep's folder, which `nudge sweep run` then works on: what wins since 2022 beside losses (averaging weights,
 * averaging runs, training the head first, staying near the start), each with paired differences against ERM and against SWAD-NU. Default
 * hyperparameters, MobileNetV2 with ImageNet weights, 2,001 steps, three trials. Planned again it changes nothing.
 *
 *     node studies/recipes/plan.mjs --root data                                                plans sweeps/recipes-pacs, and prints the next two commands
 *     node studies/recipes/plan.mjs --root data --only erm,head-first -- --weights mobilenet_v2.pth
 *     nudge sweep run sweeps/recipes-pacs --launcher gpus -o per_gpu=4
 *     nudge report sweeps/recipes-pacs --against ERM && nudge report sweeps/recipes-pacs --only pairs --against SWAD-NU
 *
 * What follows `--` goes to every `nudge sweep plan`, such as `-- --data shapes --backbone small-cnn --steps 20` to try it.
 */
import { spawnSync } from "node:child_process";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const program = join(dirname(fileURLToPath(import.meta.url)), "../../bin/nudge.mjs");

/** The blocks, by name; each is one plan. Soups and ensembles are of the three seeds of each trial. @type {Record<string, string[]>} */
const BLOCKS = {
  /** ERM, T3A, the average of all updates (MA), soups of both, the ensemble, and the ensemble of averages (EoA). */
  erm: ["--algorithms", "ERM,MA", "--seeds", "3", "--soup", "--ensemble", "t3a=20"],
  /** SWAD-NU, and ERM-NU off the same runs. */
  "swad-nu": ["--algorithms", "ERM-NU,SWAD-NU"],
  /** The classifier starts as the exact probe, so that seeds have one start: fine-tuned, WiSE-FT by validation, and soups of both. */
  "head-first": [
    ...["--algorithms", "ERM,WiSE-FT", "--seeds", "3", "--soup", "greedy", "headFirst=exact"],
    ...["wise-ft.coefficient=auto", "wise-ft.start=500"],
  ],
  "l2-sp": ["--algorithms", "ERM-L2-SP"],
  "erm-plus-plus": ["--algorithms", "ERM++"],
};

const split = process.argv.indexOf("--");
const more = split < 0 ? [] : process.argv.slice(split + 1);
const { values } = parseArgs({
  args: process.argv.slice(2, split < 0 ? undefined : split),
  options: {
    root: { type: "string" },
    trials: { type: "string", default: "3" },
    out: { type: "string", default: "sweeps/recipes-pacs" },
    only: { type: "string" },
  },
});
const wanted = values.only?.split(",") ?? Object.keys(BLOCKS);
const unknown = wanted.find((name) => !Object.hasOwn(BLOCKS, name));
if (unknown !== undefined) {
  process.stderr.write(`plan: expected blocks among ${Object.keys(BLOCKS).join(", ")}, got "${unknown}"\n`);
  process.exit(2);
}
const common = [
  ...["--backbone", "mobilenet_v2", "--precision", "bf16", "--steps", "2001", "--eval-every", "100"],
  ...["--trials", values.trials, "--name", "recipes", "--out", values.out, "--no-measure", "evaluateTraining=false"],
];
const data = more.includes("--data") ? [] : ["--data", "pacs", ...(values.root ? ["--root", values.root] : [])];
for (const name of wanted) {
  const words = [program, "sweep", "plan", ...data, ...common, ...BLOCKS[name], ...more];
  const { status } = spawnSync(process.execPath, words, { stdio: ["ignore", "ignore", "inherit"] });
  if (status !== 0) process.exit(status ?? 1);
}
process.stdout.write(
  `nudge sweep run ${values.out}\nnudge report ${values.out} --against ERM\nnudge report ${values.out} --only pairs --against SWAD-NU\n`,
);
