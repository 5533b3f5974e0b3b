/** `nudge sweep work`: the process that controllers start. It reports events on stdout and stops when its stdin closes. */

import { Command } from "commander";
import { version } from "../library/version.js";
import { RESUMABLE } from "./failure.js";
import { wholeNumber } from "./parse-options.js";
import { launchedUnder, type RuleFlags, rulesIn, withRules } from "./sweep-flags.js";

interface WorkFlags extends RuleFlags {
  device?: string;
  threads: number;
  runs?: number;
  first: number;
  launchedUnder: string;
}

export function sweepWorkCommand(): Command {
  return withRules(new Command("work"))
    .description("Executes runs of a sweep in this process; nudge sweep run starts such processes.")
    .argument("<dir>")
    .option("--device <device>", "cpu, cuda or cuda:1")
    .option("--threads <n>", "the number of CPU threads of runs started here", wholeNumber("--threads", 1), 1)
    .option("--runs <n>", "execute at most this many runs; 0 only creates soups and ensembles", wholeNumber("--runs"))
    .option("--first <n>", "the position in the plan at which to start", wholeNumber("--first"), 0)
    .addOption(launchedUnder())
    .action((dir: string, flags: WorkFlags) => workOn(dir, flags));
}

async function workOn(folder: string, flags: WorkFlags): Promise<void> {
  const { work } = await import("../sweep/work.js");
  let stopRequested = false;
  const stop = (): void => {
    stopRequested = true;
  };
  process.on("SIGTERM", stop);
  process.on("SIGINT", () => {}); // a terminal sends it to all processes; the controller decides
  process.stdin.on("close", stop).resume(); // it closes when the controller is gone
  const why = await work({
    ...rulesIn(flags),
    folder,
    device: flags.device,
    threads: flags.threads,
    runs: flags.runs ?? null,
    first: flags.first,
    cancelToken: flags.launchedUnder,
    shouldStop: () => stopRequested,
    onEvent: (event) => void process.stdout.write(`${JSON.stringify(event)}\n`),
    version: version(),
  });
  process.stdin.destroy();
  process.exitCode = why === "asked to stop" ? RESUMABLE : 0;
}
