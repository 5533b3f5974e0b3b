/**
 * `nudge train`: one run, or one that goes on. Every option stands for a setting (`--eval-every 100` is `evaluateEvery=100`), and
 * hyperparameters are given as `key=value`. Settings come from defaults, then `--config`, then the command line.
 */

import { existsSync } from "node:fs";
import { join } from "node:path";
import { Command, Option } from "commander";
import { UsageError } from "../errors.js";
import type { Request } from "../settings/keys.js";
import { readConfig, readPairs } from "../settings/read-request.js";
import type { TrainSettings } from "../settings/settings.js";
import { version } from "./version.js";

interface TrainFlags {
  config?: string;
  resume?: string;
  out: string;
  quiet?: true;
  json?: true;
  [option: string]: unknown;
}

/** Options that are settings under another name. */
const RENAMED: Readonly<Record<string, string>> = {
  testDomain: "testDomains",
  regularizer: "regularizers",
  evalEvery: "evaluateEvery",
};

/** Options that are no settings. */
const NOT_SETTINGS = ["config", "resume", "out", "quiet", "json"];

/** What a resumed run may be told: where its files are now, and nothing that changes numbers. */
const MAY_MOVE = ["data", "root", "cache", "weights", "device"];

export function trainCommand(): Command {
  return new Command("train")
    .description(
      "Trains one model with some domains held out, and writes a run folder: settings, records, checkpoints, the model, figures. A run that was stopped or killed goes on with --resume, to the same bytes on the CPU.",
    )
    .argument("[key=value...]", "hyperparameters and other settings: lr=1e-4 nuclear-norm.weight=0.03 data.size=32")
    .option("--data <path|name>", "a folder of pictures, a manifest, or a dataset's name (shapes, pacs, …)")
    .option("--root <dir>", "the folder a named dataset lies in")
    .option("--test-domain <names>", "the domains held out, with commas between them")
    .option("--algorithm <name>", "an algorithm, or a method as papers name it: erm, mixup, ERM-NU, SWAD-NU")
    .option("--regularizer <ids>", "penalties on the features, such as nuclear-norm")
    .option("--averaging <ids>", "averages of the weights to keep, such as swad")
    .option("--backbone <id>", "the feature extractor; the reference's for the dataset unless told")
    .option("--weights <file>", "trained weights to start from")
    .option("--pretrained", "start from trained weights ($NUDGE_WEIGHTS or the cache); usual where there are any")
    .addOption(new Option("--no-pretrained", "start from random weights").default(undefined))
    .option("--steps <n>", "updates in all; the dataset's protocol unless told")
    .option("--eval-every <n>", "updates from one evaluation to the next; likewise")
    .option("--batch-size <n>", "pictures of each training domain in a batch")
    .option("--seed <n>", "all randomness but the two below")
    .option("--trial-seed <n>", "another trial, another split")
    .option("--hparams-seed <n>", "0 for default hyperparameters, another for a random draw, as the reference draws")
    .option("--device <device>", "cpu, cuda or cuda:1")
    .option("--precision <p>", "float32 or bf16")
    .option("--threads <n>", "CPU threads an operator may use")
    .option("--config <file>", "settings from a YAML file, or from another run's settings.json")
    .option("--out <dir>", "the folder that run folders are made in", "runs")
    .option("--resume <run>", "go on with the run in this folder")
    .option("--quiet", "print nothing on the way")
    .option("--json", "print the outcome as JSON")
    .action((pairs: string[], flags: TrainFlags) => run(pairs, flags));
}

async function run(pairs: readonly string[], flags: TrainFlags): Promise<void> {
  const asked = { ...settingsIn(flags), ...readPairs(pairs) };
  const [{ resolve }, { runName }, { RunFolder, readTrainSettings }, { defaultDevice }] = await Promise.all([
    import("../settings/resolve.js"),
    import("../settings/settings.js"),
    import("../training/run-folder.js"),
    import("../engine/device.js"),
  ]);
  const { resume, config } = flags;
  const before = resume === undefined ? undefined : readTrainSettings(resume);
  const request = before ? requestAgain(before, asked, config) : { ...(config ? readConfig(config) : {}), ...asked };
  const plan = await resolve({ ...request, device: request.device ?? defaultDevice() });
  if (before && plan.settings.hash !== before.hash) throw changed(resume!, before, plan.settings);
  const path = resume ?? join(flags.out, runName(plan.settings));
  if (!before && existsSync(join(path, "settings.json")) && !existsSync(join(path, "done")))
    throw new UsageError(`a run of these settings was begun in ${path}: go on with nudge train --resume ${path}`);
  using folder = await RunFolder.own(path);
  if (folder.isDone) {
    print(flags, path, plan.settings, { done: true, already: true });
    return;
  }
  if (!before) folder.writeJson("settings.json", plan.settings);
  const [{ train }, { streamReporter, quietReporter }] = await Promise.all([
    import("../training/train.js"),
    import("../training/reporter.js"),
  ]);
  const reporter = flags.quiet ? quietReporter : streamReporter(process.stderr);
  reporter.line(`run folder: ${path}`);
  const stop = onSignals((signal) => reporter.line(`${signal}: finishing the step; once more to stop at once`));
  try {
    const outcome = await train({ plan, folder, reporter, shouldStop: () => stop.asked, version: version() });
    if (!outcome.done) process.exitCode = 1;
    print(flags, path, plan.settings, outcome);
  } finally {
    stop.end();
  }
}

/** The options that are settings, by their keys. */
function settingsIn(flags: TrainFlags): Request {
  const given = Object.entries(flags).filter(([name, value]) => !NOT_SETTINGS.includes(name) && value !== undefined);
  return Object.fromEntries(given.map(([name, value]) => [RENAMED[name] ?? name, value]));
}

function requestAgain(before: TrainSettings, asked: Request, config: string | undefined): Request {
  const other = Object.keys(asked).find((name) => !MAY_MOVE.includes(name));
  if (other !== undefined || config !== undefined)
    throw new UsageError(
      `--resume goes on with the run's own settings, and takes no ${other ?? "--config"}; it may be told ${MAY_MOVE.join(", ")}`,
    );
  return { ...before.request, ...asked };
}

function changed(run: string, before: TrainSettings, now: TrainSettings): UsageError {
  const names = Object.keys(before) as (keyof TrainSettings)[];
  const differ = names.filter(
    (name) => name !== "hash" && name !== "given" && JSON.stringify(before[name]) !== JSON.stringify(now[name]),
  );
  return new UsageError(
    `${run}: the run cannot go on: ${differ.join(", ") || "its settings"} ${differ.length > 1 ? "are" : "is"} not what it was begun with (${before.hash}, now ${now.hash}). Has the dataset or the file of weights changed?`,
  );
}

/** The first signal asks to stop; the second is the system's to act on. */
function onSignals(told: (signal: string) => void): { readonly asked: boolean; end(): void } {
  const signals = ["SIGINT", "SIGTERM"] as const;
  const state = {
    asked: false,
    end: () => {
      for (const signal of signals) process.off(signal, ask);
    },
  };
  const ask = (signal: NodeJS.Signals): void => {
    state.asked = true;
    state.end();
    told(signal);
  };
  for (const signal of signals) process.on(signal, ask);
  return state;
}

function print(flags: TrainFlags, run: string, { hash }: TrainSettings, outcome: object): void {
  if (flags.json) process.stdout.write(`${JSON.stringify({ run, hash, ...outcome })}\n`);
  else if ("already" in outcome) process.stdout.write(`already done: ${run}\n`);
  else if ("done" in outcome && outcome.done) process.stdout.write(`done: ${run}\n`);
}
