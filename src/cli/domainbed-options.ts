/**
 * What DomainBed's users type out of habit: the options of its `train.py`, `sweep.py` and `collect_results.py`, and what says
 * the same here. An unknown option is looked up in it for a hint, where none is spelt alike; none is taken in the place of ours.
 */

import type { Command } from "commander";

/** By DomainBed's name: the option of ours, the first of some that the command has; or what to do, in words. */
const OPTIONS: Readonly<Record<string, readonly string[] | string>> = {
  checkpoint_freq: ["--eval-every"],
  command_launcher: ["--launcher"],
  data_dir: ["--root"],
  dataset: ["--data"],
  datasets: ["--data"],
  holdout_fraction: "the setting holdout=0.2",
  hparams: "settings as words, key=value: lr=1e-4 batchSize=16",
  hparams_seed: ["--hparams-seed", "--hparams"],
  input_dir: "the folder itself, as a word",
  latex: ["--format"],
  n_hparams: ["--hparams"],
  n_hparams_from: "a range: --hparams 5-19",
  n_trials: ["--trials"],
  n_trials_from: "a range: --trials 1-2",
  output_dir: ["--out"],
  single_test_envs: "what is done unless --pairs is given",
  skip_confirmation: "not needed: nothing is asked",
  test_envs: ["--test-domain", "--test-domains"],
  trial_seed: ["--trial-seed", "--trials"],
};

/** What an option that a command does not know is called there; undefined where it is not one of DomainBed's. */
export function domainbedHint(option: string, command: Pick<Command, "options">): string | undefined {
  const name = option.replace(/^--/, "").replaceAll("-", "_");
  const known = Object.hasOwn(OPTIONS, name) ? OPTIONS[name] : undefined;
  if (known === undefined || typeof known === "string") return known;
  const own = known.find((each) => command.options.some(({ long }) => long === each));
  return own && (name === "test_envs" ? `${own}, with domains by name` : own);
}
