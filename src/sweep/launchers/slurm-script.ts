/** The batch script of a Slurm job array: plain text that can be read, changed and submitted by hand. */

import { UsageError } from "../../errors.js";
import { quoteWords } from "../../files/shell-words.js";

export interface ScriptOptions {
  readonly partition?: string;
  readonly account?: string;
  readonly qos?: string;
  readonly gres?: string;
  readonly constraint?: string;
  readonly cpus_per_task: number;
  readonly mem_gb?: number;
  readonly timeout_min?: number;
  readonly array_parallelism?: number;
  /** Lines before the command: `module load cuda`. */
  readonly setup?: readonly string[];
  /** Additional options of sbatch, unchanged: `--exclude=node7`. */
  readonly extra?: readonly string[];
}

export interface Script extends ScriptOptions {
  readonly name: string;
  readonly tasks: number;
  /** The number of seconds before the time limit at which the job receives a signal. */
  readonly warning: number;
  /** The folder for the output of the jobs. */
  readonly logs: string;
  /** The command of a task. The number of the task is appended. */
  readonly command: readonly string[];
}

/** A value in a line of `#SBATCH`, where double quotes are supported. */
function quoted(value: string): string {
  if (/[\n"\\]/.test(value))
    throw new UsageError(
      `slurm: ${JSON.stringify(value)}: quotes, backslashes and line ends cannot be given to sbatch`,
    );
  return /^[\w@%+=:,./[\]-]+$/.test(value) ? value : `"${value}"`;
}

/** Writes the script. */
export function slurmScript(script: Script): string {
  const { partition, account, qos, gres, constraint, cpus_per_task, mem_gb, timeout_min, array_parallelism } = script;
  const { name, tasks, warning, logs, setup = [], extra = [], command } = script;
  const together = array_parallelism === undefined ? "" : `%${array_parallelism}`;
  const output = `${logs.replaceAll("%", "%%")}/%A_%a.log`;
  const option = (key: string, value: string | number | undefined): string[] =>
    value === undefined ? [] : [`#SBATCH --${key}=${quoted(String(value))}`];
  const lines = [
    "#!/bin/bash",
    ...option("job-name", name),
    ...option("array", `0-${tasks - 1}${together}`),
    ...option("output", output),
    // The output of a requeued task is appended to its earlier output.
    ...option("open-mode", "append"),
    ...option("partition", partition),
    ...option("account", account),
    ...option("qos", qos),
    ...option("gres", gres),
    ...option("constraint", constraint),
    ...option("cpus-per-task", cpus_per_task),
    ...option("mem", mem_gb === undefined ? undefined : `${Math.round(mem_gb * 1024)}M`),
    ...option("time", timeout_min),
    // The job can be restarted from its checkpoints after its time limit, a node failure or preemption.
    "#SBATCH --requeue",
    ...option("signal", `B:USR2@${warning}`),
    ...extra.map((line) => `#SBATCH ${line}`),
    "",
    ...setup,
    // `exec` replaces the shell, so that the program receives signals.
    `exec ${quoteWords(command)} --first "$SLURM_ARRAY_TASK_ID"`,
    "",
  ];
  return lines.join("\n");
}
