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

/** Adds the options that control how a sweep is executed. */
export function withRules(command: Command): Command {
  return command
    .option("--only <ids>", "only these runs (comma-separated), given by the first characters of their ids")
    .option("--retries <n>", "how often a failed run is retried", wholeNumber("--retries"), 0)
    .option("--max-failures <n>", "start no more runs after this many have failed", wholeNumber("--max-failures", 1))
    .option(
      "--stop-hopeless",
      "stop hyperparameter draws early that are last in their cell after half of their updates (docs/sweeps.md has the rule)",
    );
}

/** Parses them. */
export function rulesIn({ retries, maxFailures, only, stopHopeless }: RuleFlags): WorkRules {
  return {
    retries,
    maxFailures: maxFailures ?? null,
    only: only?.split(",").flatMap((id) => id.trim() || []) ?? null,
    stopHopeless: stopHopeless ?? false,
  };
}

/** The cancel token under which a process was launched. For internal use. */
export const launchedUnder = (): Option => new Option("--launched-under <token>").hideHelp().default("");
