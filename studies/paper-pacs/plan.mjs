#!/usr/bin/env node
/**
 * Plans the paper's setting on PACS into a sweep's folder, which `nudge sweep run` then works on: the original ResNet-50 (`resnet50_v1`), SWAD's protocol
 * (5,001 steps, evaluated every 100), default hyperparameters, bfloat16. Planned again it changes nothing.
 *
 *     node studies/paper-pacs/plan.mjs --root data -- --weights resnet50_v1.safetensors
 *     nudge sweep run sweeps/paper-pacs --launcher gpus -o per_gpu=2
 *     nudge report sweeps/paper-pacs --published --only tables,pairs     at any time: what is finished, beside the published numbers
 *     nudge pack sweeps/paper-pacs --finished --anonymous --out results/paper-pacs.nudge
 *
 * Runs are executed in the order of the blocks, so that a sweep that is stopped at any moment has the most useful rows: first ERM and ERM-NU of trial 0 with
 * each domain held out, then their trials 1 and 2, then Mixup, then the other methods of Table 1. SWAD is an average of the weights of the runs of ERM, so it
 * takes no run of its own. --only erm,mixup plans these blocks. What follows `--` goes to every `nudge sweep plan`.
 */
import { parseArgs } from "node:util";
import { planParts } from "../plan-sweep.mjs";
import { BLOCKS } from "./blocks.mjs";

const split = process.argv.indexOf("--");
const more = split < 0 ? [] : process.argv.slice(split + 1);
const { values } = parseArgs({
  args: process.argv.slice(2, split < 0 ? undefined : split),
  options: {
    root: { type: "string" },
    out: { type: "string", default: "sweeps/paper-pacs" },
    only: { type: "string", default: Object.keys(BLOCKS).join(",") },
  },
});
const wanted = values.only.split(",");
const unknown = wanted.find((name) => !Object.hasOwn(BLOCKS, name));
if (unknown !== undefined) {
  process.stderr.write(`plan: expected blocks among ${Object.keys(BLOCKS).join(", ")}, got "${unknown}"\n`);
  process.exit(2);
}
const common = [
  ...["--data", "pacs", ...(values.root ? ["--root", values.root] : []), "--protocol", "swad"],
  ...["--backbone", "resnet50_v1", "--precision", "bf16", "--name", "paper-pacs", "--out", values.out],
];
const parts = wanted.flatMap((name) =>
  BLOCKS[name].trials.flatMap((trial) =>
    BLOCKS[name].methods.map((methods) => [
      ...[...common, "--trials", `${trial}-${trial}`, "--algorithms", methods],
      ...more,
    ]),
  ),
);
const { asked, added, done } = await planParts(parts);
process.stdout.write(
  `${asked} runs in ${values.out}: ${added} of them new, ${done} done\nnudge sweep run ${values.out} --launcher gpus -o per_gpu=2\n`,
);
