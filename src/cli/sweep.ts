/** `nudge sweep`: many runs, planned once and executed on this machine, its GPUs or a cluster. One file per subcommand. */

import { Command } from "commander";
import { sweepCancelCommand } from "./sweep-cancel.js";
import { sweepCleanCommand } from "./sweep-clean.js";
import { planCommand } from "./sweep-plan.js";
import { sweepRetryCommand } from "./sweep-retry.js";
import { sweepRunCommand } from "./sweep-run.js";
import { sweepSlurmTaskCommand } from "./sweep-slurm-task.js";
import { sweepStatusCommand } from "./sweep-status.js";
import { sweepWorkCommand } from "./sweep-work.js";

type Write = (text: string) => void;

/** The command. `write` receives the output of its subcommands. */
export function sweepCommand(write: Write = (text) => void process.stdout.write(text)): Command {
  return new Command("sweep")
    .description(
      "Plans many runs, executes them and shows their progress. A sweep is one folder, and no run is executed twice.",
    )
    .addCommand(planCommand(write))
    .addCommand(sweepRunCommand())
    .addCommand(sweepStatusCommand(write))
    .addCommand(sweepRetryCommand(write))
    .addCommand(sweepCancelCommand(write))
    .addCommand(sweepCleanCommand(write))
    .addCommand(sweepWorkCommand(), { hidden: true })
    .addCommand(sweepSlurmTaskCommand(), { hidden: true })
    .addHelpText(
      "after",
      `
Examples:
  nudge sweep plan --data shapes --algorithms ERM,ERM-NU --trials 3 --steps 300 --out sweeps/first
  nudge sweep run sweeps/first
  nudge sweep status sweeps/first
  nudge report sweeps/first`,
    );
}
