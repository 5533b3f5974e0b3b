/** Options that several verbs of `nudge sweep` share. */

import { type Command, Option } from "commander";
import type { WorkRules } from "../sweep/work.js";
import { wholeNumber } from "./parse-options.js";

export interface RuleFlags {
  retries: number;
  maxFailures?: number;
  only?: string;
  stopHopeless?: true;
}

/** Adds the options that decide how a sweep is worked off. */
export function withRules(command: Command): Command {
  return command
    .option("--only <ids>", "only these runs, by the first digits of their ids, with commas between them")
    .option("--retries <n>", "how many more tries a run has after an error", wholeNumber("--retries"), 0)
    .option("--max-failures <n>", "begin no more runs once so many have failed", wholeNumber("--max-failures", 1))
    .option(
      "--stop-hopeless",
      "give up draws of hyperparameters that are last in their cell after half of their updates (docs/sweeps.md has the rule)",
    );
}

/** Reads them. */
export function rulesIn({ retries, maxFailures, only, stopHopeless }: RuleFlags): WorkRules {
  return {
    retries,
    maxFailures: maxFailures ?? null,
    only: only?.split(",").flatMap((id) => id.trim() || []) ?? null,
    stopHopeless: stopHopeless ?? false,
  };
}

/** The cancel token under which a process was launched: no business of people. */
export const launchedUnder = (): Option => new Option("--launched-under <token>").hideHelp().default("");
