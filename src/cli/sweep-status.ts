/** `nudge sweep status`: prints the progress of a sweep. Never loads the engine. */

import { setTimeout as sleep } from "node:timers/promises";
import { Command } from "commander";
import { runDetails } from "../run-index/run-details.js";
import { StatusReader, type SweepStatus } from "../run-index/status.js";
import { statusText } from "../run-index/status-text.js";
import { launchers } from "../sweep/launchers/index.js";
import { namedRuns } from "../sweep/run-list.js";
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
    .description(
      "Shows how many runs of a sweep are done, running, waiting and failed, on all machines that work on it.",
    )
    .argument("<dir>", "the folder of a sweep")
    .argument("[runs...]", "show details of these runs, given by the first characters of their ids")
    .option("--watch [seconds]", "repeat every few seconds until all runs are done (default: 5)", (text) =>
      realNumber("--watch", { least: 0.2 })(text),
    )
    .option("--all", "list all running, failed and early-stopped runs instead of only the first ones")
    .option("--json", "print as JSON; with --watch, one line each time")
    .addHelpText(
      "after",
      `
Examples:
  nudge sweep status sweeps/table1
  nudge sweep status sweeps/table1 --watch
  nudge sweep status sweeps/table1 c8c64362          why this run failed
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

/** The reports of schedulers on the sweep. A scheduler that does not answer is reported and not asked again. */
async function schedulerJobs(folder: string): Promise<string[]> {
  const reports = await Promise.all(
    Object.values(launchers).map(async ({ jobs }) => {
      try {
        return (await jobs?.(folder)) ?? [];
      } catch (error) {
        return [`note: ${(error as Error).message}`];
      }
    }),
  );
  return reports.flat();
}
