/** `nudge sweep status`: how far a sweep is. Never loads the engine. */

import { setTimeout as sleep } from "node:timers/promises";
import { Command } from "commander";
import { launchers } from "../sweep/launchers/index.js";
import { runDetails } from "../sweep/run-details.js";
import { namedRuns } from "../sweep/run-list.js";
import { StatusReader, type SweepStatus } from "../sweep/status.js";
import { statusText } from "../sweep/status-text.js";
import { planLines } from "../sweep/sweep-folder.js";
import { realNumber } from "./parse-options.js";

type Write = (text: string) => void;

interface StatusFlags {
  watch?: number | true;
  json?: true;
  all?: true;
}

export function sweepStatusCommand(write: Write = (text) => void process.stdout.write(text)): Command {
  return new Command("status")
    .description("Says what is done, running, waiting and failed of a sweep, whoever is at work on it.")
    .argument("<dir>", "the folder of a sweep")
    .argument("[runs...]", "all that is known of these runs, by the first digits of their ids")
    .option("--watch [seconds]", "say it again every few seconds until all is done (default: 5)", (text) =>
      realNumber("--watch", { least: 0.2 })(text),
    )
    .option("--all", "list all that run, failed or were given up, and not only the first")
    .option("--json", "print it as JSON; with --watch a line each time")
    .addHelpText(
      "after",
      `
Examples:
  nudge sweep status sweeps/table1
  nudge sweep status sweeps/table1 --watch
  nudge sweep status sweeps/table1 c8c64362          why this one failed
  nudge sweep status sweeps/table1 --json | jq .counts`,
    )
    .action((dir: string, runs: string[], flags: StatusFlags) => status(dir, runs, flags, write));
}

async function status(folder: string, words: readonly string[], flags: StatusFlags, write: Write): Promise<void> {
  const reader = new StatusReader(folder);
  if (words.length > 0) {
    const named = namedRuns([...planLines(folder)], words).map((run) => reader.one(run));
    if (flags.json) write(`${JSON.stringify(named)}\n`);
    else write(named.map((run) => runDetails(folder, run)).join("\n"));
    return;
  }
  const seconds = flags.watch === true ? 5 : flags.watch;
  for (;;) {
    const now = reader.read();
    const jobs = await schedulerJobs(folder);
    const clear = seconds !== undefined && process.stdout.isTTY ? "\x1b[H\x1b[2J" : "";
    write(flags.json ? `${JSON.stringify({ ...now, jobs })}\n` : clear + statusText(now, { all: flags.all, jobs }));
    if (seconds === undefined || isSettled(now)) return;
    await sleep(seconds * 1000);
  }
}

const isSettled = ({ counts }: SweepStatus): boolean => counts.running === 0 && counts.waiting === 0;

/** What schedulers say of the sweep; a scheduler that does not answer is told of, and costs no more. */
async function schedulerJobs(folder: string): Promise<string[]> {
  const told = await Promise.all(
    Object.values(launchers).map(async ({ jobs }) => {
      try {
        return (await jobs?.(folder)) ?? [];
      } catch (error) {
        return [`note: ${(error as Error).message}`];
      }
    }),
  );
  return told.flat();
}
