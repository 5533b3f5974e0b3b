#!/usr/bin/env node
/**
 * Plans DomainBed's table of ColoredMNIST (docs/results/colored-mnist.md) into a sweep's folder, which `nudge sweep run` then works on: as the code of
 * commit 7df6f06 runs it, with its hyperparameters, its seed for each job, and digits, noise and colours that every run deals again. Planned again it changes nothing.
 *
 *     node studies/colored-mnist/plan.mjs --root data                        the first six algorithms: 1,080 runs
 *     node studies/colored-mnist/plan.mjs --root data --only Mixup,MLDG,CORAL,DANN,CDANN,MTL,SagNet,RSC      the other 1,440
 *     node studies/colored-mnist/plan.mjs --root data --trials 0 --domains=-90%        what the second rule needs of one trial: 120 runs
 *     nudge sweep run sweeps/colored-mnist --launcher gpus -o per_gpu=8
 *
 * Runs are executed in the order trial, held-out domain, algorithm, draw, so that a sweep that is stopped has whole cells. Planning takes about half a second a
 * run, because each has other digits. A sweep that was planned on one machine can be run on another (`nudge sweep run --root`). What follows `--` goes to every
 * `nudge sweep plan`.
 */
import { parseArgs } from "node:util";
import { planParts } from "../plan-sweep.mjs";
import { jobSeedOf, settingsOf } from "./draws.mjs";
import { ALGORITHMS, DOMAINS, DRAWS, FIRST, TRIALS } from "./table.mjs";

const split = process.argv.indexOf("--");
const more = split < 0 ? [] : process.argv.slice(split + 1);
const { values } = parseArgs({
  args: process.argv.slice(2, split < 0 ? undefined : split),
  options: {
    root: { type: "string" },
    out: { type: "string", default: "sweeps/colored-mnist" },
    only: { type: "string", default: Object.keys(ALGORITHMS).slice(0, FIRST).join(",") },
    trials: { type: "string", default: TRIALS.join(",") },
    domains: { type: "string", default: DOMAINS.join(",") },
    draws: { type: "string", default: DRAWS.join(",") },
  },
});

/** Items of a list that are among the known ones. @param {string} option @param {string} text @param {readonly string[]} known */
function listed(option, text, known) {
  const items = text.split(",");
  const unknown = items.find((item) => !known.includes(item));
  if (unknown === undefined) return items;
  process.stderr.write(`plan: ${option}: expected some of ${known.join(", ")}, got "${unknown}"\n`);
  return process.exit(2);
}

const algorithms = listed("--only", values.only, Object.keys(ALGORITHMS));
const domains = listed("--domains", values.domains, DOMAINS);
const trials = listed("--trials", values.trials, TRIALS.map(String)).map(Number);
const draws = listed("--draws", values.draws, DRAWS.map(String)).map(Number);

function* parts() {
  for (const trial of trials)
    for (const domain of domains)
      for (const title of algorithms)
        for (const draw of draws) {
          const algorithm = ALGORITHMS[title];
          const settings = {
            ...settingsOf(algorithm, { draw, trial }),
            "data.seed": jobSeedOf({ title, domain, trial, draw }),
          };
          yield [
            ...["--data", "colored-mnist", ...(values.root ? ["--root", values.root] : []), "--reference-jobs"],
            ...["--name", "colored-mnist", "--out", values.out, "--steps", "5001", "evaluateTraining=false"],
            ...[
              "--algorithms",
              title,
              `--test-domains=${domain}`,
              "--trials",
              `${trial}-${trial}`,
              "--hparams",
              `${draw}-${draw}`,
            ],
            ...Object.entries(settings).map(([name, value]) => `${name}=${value}`),
            ...more,
          ];
        }
}

const { asked, added, done } = await planParts(parts());
process.stdout.write(
  `${asked} runs in ${values.out}: ${added} of them new, ${done} done\nnudge sweep run ${values.out} --launcher gpus -o per_gpu=8\n`,
);
