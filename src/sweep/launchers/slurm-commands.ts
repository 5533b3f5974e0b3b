/** Runs the commands of Slurm and parses their output. */

import { execFile } from "node:child_process";
import { userInfo } from "node:os";
import { promisify } from "node:util";
import { DataError, UsageError } from "../../errors.js";

const run = promisify(execFile);

/** Runs a command of Slurm and returns its output. */
export async function slurm(program: string, ...args: string[]): Promise<string> {
  try {
    return (await run(program, args, { encoding: "utf8", maxBuffer: 1 << 28 })).stdout;
  } catch (cause) {
    const { code, stderr = "", message } = cause as NodeJS.ErrnoException & { stderr?: string };
    if (code === "ENOENT")
      throw new UsageError(
        `launcher slurm: the command ${program} was not found. Run this on a login node of the cluster`,
      );
    const reason = stderr.trim() || message;
    throw new DataError(`${program} ${args.join(" ")}: ${reason}`, { cause });
  }
}

/** The maximum number of tasks of an array; Slurm's default if it does not report one. */
export async function largestArray(): Promise<number> {
  const config = await slurm("scontrol", "show", "config");
  return Number(/^MaxArraySize\s*=\s*(\d+)/m.exec(config)?.[1] ?? 1001);
}

/** The array task of this process, in the notation of Slurm's commands; undefined outside of a job. */
export function ownTask(env: NodeJS.ProcessEnv = process.env): string | undefined {
  const { SLURM_ARRAY_JOB_ID: array, SLURM_ARRAY_TASK_ID: task, SLURM_JOB_ID: job } = env;
  // In a task of an array, the job id alone could stand for the whole array.
  return array !== undefined && task !== undefined ? `${array}_${task}` : job;
}

export interface TaskState {
  /** `1234_7`. */
  readonly task: string;
  /** In Slurm's spelling: RUNNING, PENDING, … */
  readonly state: string;
  readonly reason: string;
}

/** The queued tasks of some jobs. A job that Slurm no longer knows has none. */
export async function queuedTasks(jobs: readonly string[]): Promise<TaskState[]> {
  if (jobs.length === 0) return [];
  // The query is by user and not by job, because a query for a job that no longer exists is an error.
  const wanted = new Set(jobs);
  const listed = await slurm("squeue", "--noheader", "--array", "--format=%i|%T|%r", `--user=${userInfo().username}`);
  return listed.split("\n").flatMap((line) => {
    const [task, state, reason] = line.trim().split("|");
    return wanted.has(task.split("_")[0]) ? [{ task, state, reason }] : [];
  });
}

/** The number of ended tasks of some jobs by final state; undefined if Slurm has no accounting. */
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
