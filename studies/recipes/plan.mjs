#!/usr/bin/env node
/**
 * Plans the study of training recipes into a sweep's folder, which `nudge sweep run` then works on: what wins since 2022
 * beside losses (averaging weights, averaging runs, training the head first, staying near the start), each with paired
 * differences against ERM and against SWAD-NU. Default hyperparameters, MobileNetV2 with ImageNet weights, 2,001 steps,
 * three trials. Planned again it changes nothing.
 *
 *     node studies/recipes/plan.mjs --root data                 plans sweeps/recipes-pacs, and prints the next commands
 *     node studies/recipes/plan.mjs --root data --only erm,head-first -- --weights mobilenet_v2.pth
 *     nudge sweep run sweeps/recipes-pacs --launcher gpus -o per_gpu=4
 *     nudge report sweeps/recipes-pacs --choose --against ERM
 *     nudge report sweeps/recipes-pacs --choose --only pairs --against SWAD-NU
 *
 * Options after `--` go to every `nudge sweep plan`. To try the study without PACS, plan all blocks except `head-first`,
 * which fits a classifier to the features of picture files:
 *
 *     node studies/recipes/plan.mjs --out sweeps/tried --only erm,swad-nu,erm-plus-plus,l2-sp \
 *       -- --data shapes --backbone small-cnn --steps 20
 *
 * Runs are executed in the order of the blocks, so that a sweep that is stopped early has the most useful rows. The first
 * three blocks, 60 runs, have all baselines, averages, soups and ensembles. `erm-seeds` is not planned by default: it makes
 * the ensembles of `head-first` once more from runs whose classifiers start from random values.
 */
import { spawnSync } from "node:child_process";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const program = join(dirname(fileURLToPath(import.meta.url)), "../../bin/nudge.mjs");

const ERM = ["--algorithms", "ERM,MA,SWAD", "t3a=20"];
const NU = ["--algorithms", "ERM-NU,SWAD-NU", "t3a=20"];

/** The blocks, by name; each is one plan of 12 runs, or 36 with three seeds. @type {Record<string, string[]>} */
const BLOCKS = {
  /** Of one training: ERM, T3A, the average of all updates (MA) and SWAD. */
  erm: ERM,
  /** Of one training: ERM-NU, SWAD-NU, and T3A of both. */
  "swad-nu": NU,
  /**
   * The classifier starts as the exact probe, so that seeds have one start. Of one training: fine-tuned, WiSE-FT by
   * validation, MA. Of the three seeds of each trial: greedy soups of these, ensembles, and the ensemble of averages (EoA).
   */
  "head-first": [
    ...["--algorithms", "ERM,WiSE-FT,MA", "--seeds", "3", "--soup", "greedy", "--ensemble", "headFirst=exact"],
    ...["wise-ft.coefficient=auto", "wise-ft.start=500"],
  ],
  /**
   * As its paper trains it: a schedule by validation, then again on all pictures. Batch norm is trained in the paper, but
   * that of the weights at hand may be folded, so it is frozen, as in all other rows.
   */
  "erm-plus-plus": [
    ...["--algorithms", "ERM++", "freezeBatchNorm=true"],
    ...["schedule=plateau", "plateau.from=500", "retrain=true"],
  ],
  "l2-sp": ["--algorithms", "ERM-L2-SP"],
  /** Two more seeds of the second block, for ensembles. These and T3A of the block were added when 68 runs had been evaluated. */
  "swad-nu-seeds": [...NU, "--seeds", "3", "--ensemble"],
  /** Two more seeds of the first block, for soups and ensembles from random classifiers. */
  "erm-seeds": [...ERM, "--seeds", "3", "--soup", "greedy", "--ensemble"],
};
const OPTIONAL = ["erm-seeds"];

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
const wanted = values.only?.split(",") ?? Object.keys(BLOCKS).filter((name) => !OPTIONAL.includes(name));
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
  [
    `nudge sweep run ${values.out}`,
    `nudge report ${values.out} --choose --against ERM`,
    `nudge report ${values.out} --choose --only pairs --against SWAD-NU\n`,
  ].join("\n"),
);
