/** `nudge sweep work`: what controllers start. It tells what happens on its output, and stops when its input closes. */

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
    .description("Makes runs of a sweep in this process; nudge sweep run starts such processes.")
    .argument("<dir>")
    .option("--device <device>", "cpu, cuda or cuda:1")
    .option("--threads <n>", "CPU threads of runs begun here", wholeNumber("--threads", 1), 1)
    .option("--runs <n>", "make so many runs at most", wholeNumber("--runs", 1))
    .option("--first <n>", "where in the plan to begin to look", wholeNumber("--first"), 0)
    .addOption(launchedUnder())
    .action((dir: string, flags: WorkFlags) => workOn(dir, flags));
}

async function workOn(folder: string, flags: WorkFlags): Promise<void> {
  const { work } = await import("../sweep/work.js");
  let asked = false;
  const stop = (): void => {
    asked = true;
  };
  process.on("SIGTERM", stop);
  process.on("SIGINT", () => {}); // a terminal sends it to everybody; the controller decides
  process.stdin.on("close", stop).resume(); // it closes when the controller is gone
  const why = await work({
    ...rulesIn(flags),
    folder,
    device: flags.device,
    threads: flags.threads,
    runs: flags.runs ?? null,
    first: flags.first,
    cancelToken: flags.launchedUnder,
    shouldStop: () => asked,
    onEvent: (event) => void process.stdout.write(`${JSON.stringify(event)}\n`),
    version: version(),
  });
  process.stdin.destroy();
  process.exitCode = why === "told to stop" ? RESUMABLE : 0;
}
