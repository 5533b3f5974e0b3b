/**
 * The options of DomainBed's `train.py`, `sweep.py` and `collect_results.py`, with their equivalents here. They are
 * used for hints about unknown options that are not misspellings of ours. They are not accepted in place of our
 * options.
 */

import type { Command } from "commander";

/** By DomainBed's name: our option (the first of a list that the command has), or what to do, as text. */
const OPTIONS: Readonly<Record<string, readonly string[] | string>> = {
  checkpoint_freq: ["--eval-every"],
  command_launcher: ["--launcher"],
  data_dir: ["--root"],
  dataset: ["--data"],
  datasets: ["--data"],
  holdout_fraction: "the setting holdout=0.2",
  hparams: "settings as key=value arguments: lr=1e-4 batchSize=16",
  hparams_seed: ["--hparams-seed", "--hparams"],
  input_dir: "the folder, as an argument",
  latex: ["--format"],
  n_hparams: ["--hparams"],
  n_hparams_from: "a range: --hparams 5-19",
  n_trials: ["--trials"],
  n_trials_from: "a range: --trials 1-2",
  output_dir: ["--out"],
  single_test_envs: "the default; --pairs adds pairs of domains",
  skip_confirmation: "not needed: there is no confirmation",
  test_envs: ["--test-domain", "--test-domains"],
  trial_seed: ["--trial-seed", "--trials"],
};

/** Options of other training programs. */
const OTHERS: typeof OPTIONS = {
  batch: ["--batch-size"],
  epochs: ["--steps"],
  img_size: "the setting size=224",
  imgsz: "the setting size=224",
  learning_rate: "the setting lr=1e-4, as an argument",
  lr: "the setting lr=1e-4, as an argument",
  model: ["--backbone"],
  workers: "not needed: all cores decode pictures",
};

/** The equivalent of a common option of other programs; undefined if it is none. */
export const commonHint = (option: string, command: Pick<Command, "options">): string | undefined =>
  hintFrom(OTHERS, option, command);

/** The equivalent of an unknown option; undefined if it is not an option of DomainBed. */
export const domainbedHint = (option: string, command: Pick<Command, "options">): string | undefined =>
  hintFrom(OPTIONS, option, command);

function hintFrom(options: typeof OPTIONS, option: string, command: Pick<Command, "options">): string | undefined {
  const name = option.replace(/^--/, "").replaceAll("-", "_");
  const known = Object.hasOwn(options, name) ? options[name] : undefined;
  if (known === undefined || typeof known === "string") return known;
  const own = known.find((each) => command.options.some(({ long }) => long === each));
  if (name === "epochs") return own && `${own}, the number of updates: pictures × epochs / pictures in an update`;
  return own && (name === "test_envs" ? `${own}, with domains by name` : own);
}
