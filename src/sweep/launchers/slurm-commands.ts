/** Slurm's own commands, and what they answer. */

import { execFile } from "node:child_process";
import { userInfo } from "node:os";
import { promisify } from "node:util";
import { DataError, UsageError } from "../../errors.js";

const run = promisify(execFile);

/** Runs one of Slurm's commands and returns what it printed. */
export async function slurm(program: string, ...args: string[]): Promise<string> {
  try {
    return (await run(program, args, { encoding: "utf8", maxBuffer: 1 << 28 })).stdout;
  } catch (cause) {
    const { code, stderr = "", message } = cause as NodeJS.ErrnoException & { stderr?: string };
    if (code === "ENOENT")
      throw new UsageError(
        `launcher slurm: the command ${program} was not found. Run this on a login node of the cluster`,
      );
    const said = stderr.trim() || message;
    throw new DataError(`${program} ${args.join(" ")}: ${said}`, { cause });
  }
}

/** How many tasks an array may have; Slurm's own default where it does not say. */
export async function largestArray(): Promise<number> {
  const config = await slurm("scontrol", "show", "config");
  return Number(/^MaxArraySize\s*=\s*(\d+)/m.exec(config)?.[1] ?? 1001);
}

/** The task of an array that this process is in, as Slurm's commands name it; undefined outside a job. */
export function ownTask(env: NodeJS.ProcessEnv = process.env): string | undefined {
  const { SLURM_ARRAY_JOB_ID: array, SLURM_ARRAY_TASK_ID: task, SLURM_JOB_ID: job } = env;
  // The number of the job alone would be that of the whole array in one of its tasks.
  return array !== undefined && task !== undefined ? `${array}_${task}` : job;
}

export interface TaskState {
  /** `1234_7`. */
  readonly task: string;
  /** As Slurm spells it: RUNNING, PENDING, … */
  readonly state: string;
  readonly reason: string;
}

/** The tasks of some jobs that are in the queue. A job that Slurm has forgotten has none. */
export async function queuedTasks(jobs: readonly string[]): Promise<TaskState[]> {
  if (jobs.length === 0) return [];
  // By user and not by job: asking for a job that is gone is an error.
  const wanted = new Set(jobs);
  const listed = await slurm("squeue", "--noheader", "--array", "--format=%i|%T|%r", `--user=${userInfo().username}`);
  return listed.split("\n").flatMap((line) => {
    const [task, state, reason] = line.trim().split("|");
    return wanted.has(task.split("_")[0]) ? [{ task, state, reason }] : [];
  });
}

/** How the tasks of jobs ended that are no longer in the queue, by state; undefined where Slurm keeps no accounts. */
export async function endedTasks(jobs: readonly string[]): Promise<Map<string, number> | undefined> {
  if (jobs.length === 0) return undefined;
  let listed: string;
  try {
    listed = await slurm(
      "sacct",
      "--noheader",
      "--allocations",
      "--parsable2",
      "--format=State",
      "--jobs",
      jobs.join(","),
    );
  } catch {
    return undefined;
  }
  const counts = new Map<string, number>();
  for (const line of listed.split("\n")) {
    const state = line.trim().split(" ")[0];
    if (state !== "" && state !== "RUNNING" && state !== "PENDING") counts.set(state, (counts.get(state) ?? 0) + 1);
  }
  return counts;
}
