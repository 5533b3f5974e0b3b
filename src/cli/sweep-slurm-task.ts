/**
 * `nudge sweep slurm-task`: the program of a task in a Slurm array. It is a controller with one slot. When Slurm
 * signals that the time limit is near (SIGUSR2), it lets the run write a checkpoint and requeues the task.
 */

import { Command } from "commander";
import { combineHere } from "../sweep/combine-here.js";
import { control } from "../sweep/controller.js";
import { Follow } from "../sweep/follow.js";
import { ownTask, slurm } from "../sweep/launchers/slurm-commands.js";
import { namedRuns, readRunList } from "../sweep/run-list.js";
import type { WorkEvent } from "../sweep/work.js";
import type { Slot } from "../sweep/worker-process.js";
import { RESUMABLE } from "./failure.js";
import { ownCommand } from "./own-command.js";
import { wholeNumber } from "./parse-options.js";
import { onStopLevels } from "./stop-levels.js";
import { launchedUnder, type RuleFlags, rulesIn, withRules } from "./sweep-flags.js";

interface TaskFlags extends RuleFlags {
  device?: string;
  threads: number;
  runs: number;
  first: number;
  launchedUnder: string;
}

export function sweepSlurmTaskCommand(): Command {
  return withRules(new Command("slurm-task"))
    .description(
      "Executes runs of a sweep in a task of a Slurm array; nudge sweep run --launcher slurm submits such tasks.",
    )
    .argument("<dir>")
    .option("--device <device>", "cpu, cuda or cuda:1")
    .option("--threads <n>", "the number of CPU threads of runs started here", wholeNumber("--threads", 1), 1)
    .option("--runs <n>", "the number of runs to execute", wholeNumber("--runs", 1), 1)
    .option("--first <n>", "the number of the task", wholeNumber("--first"), 0)
    .addOption(launchedUnder())
    .action((dir: string, flags: TaskFlags) => runTask(dir, flags));
}

async function runTask(folder: string, flags: TaskFlags): Promise<void> {
  const { device, threads, runs: most, first } = flags;
  const rules = rulesIn(flags);
  const say = (line: string): void => void process.stderr.write(`${line}\n`);
  const all = readRunList(folder);
  const runs = rules.only ? namedRuns(all, rules.only) : all;
  const task = ownTask();
  const follow = new Follow(runs, null, say);
  using stop = onStopLevels(["SIGUSR2", "SIGTERM", "SIGINT"], (signal) => say(`${signal}: writing a checkpoint`));
  // Slurm can send its signals to all processes of a task, some of them twice, so only its own end is immediate.
  const stopping = {
    get level() {
      return stop.level === 0 ? (0 as const) : (1 as const);
    },
  };
  const onEvent = (event: WorkEvent, slot: Slot): void => follow.report(event, slot);
  let end = await control({
    folder,
    runs,
    slots: [{ label: task === undefined ? "no task" : `task ${task}`, device, threads, env: {} }],
    rules,
    program: ownCommand(),
    most,
    first: first * most,
    stay: false,
    cancelToken: flags.launchedUnder,
    stop: stopping,
    onEvent,
    say,
  });
  // A task that was requeued while it made a soup finds no run, but must make the soup.
  if (end === "settled" || end === "enough") {
    await combineHere({ folder, program: ownCommand(), device, threads, stop: stopping, onEvent });
    if (stopping.level > 0) end = "stopped";
  }
  if (end === "stopped" && stop.signal === "SIGUSR2" && task !== undefined) {
    say(`the time limit is near: task ${task} is requeued`);
    try {
      await slurm("scontrol", "requeue", task);
    } catch (error) {
      say(
        `requeueing failed: ${(error as Error).message}. Submit the remaining runs with nudge sweep run --launcher slurm`,
      );
    }
  }
  say(`task ended: ${end}`);
  process.exitCode = end === "stopped" || end === "cancelled" ? RESUMABLE : 0;
}
