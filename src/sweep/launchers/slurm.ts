/**
 * Executes runs on a cluster with Slurm: one array job, whose tasks each claim waiting runs. A task needs only the
 * folder, so the submitting process can end. Slurm signals a task some time before its limit: the task writes a
 * checkpoint, requeues itself, and later resumes with identical results.
 */

import { readdirSync } from "node:fs";
import { join } from "node:path";
import { makeFolder } from "../../files/make-folder.js";
import { writeText } from "../../files/open-file.js";
import { type Kind, list, number, option, text, whole } from "../../options.js";
import { sweepPaths } from "../sweep-folder.js";
import { pluginWords, ruleWords } from "../work-words.js";
import { defineLauncher } from "./define-launcher.js";
import { endedTasks, largestArray, queuedTasks, slurm as slurmCommand } from "./slurm-commands.js";
import { slurmScript } from "./slurm-script.js";

/** Unchanged lines: a text with line breaks, or a list. */
const lines: Kind<readonly string[]> = {
  accepts: "lines",
  read: (name, value) => (typeof value === "string" ? value.split("\n") : list.read(name, value)),
};

/** The folder of scripts, logs and job ids. */
const slurmFolder = (folder: string): string => join(sweepPaths(folder).launch, "slurm");

/** The jobs that were submitted for a sweep. */
export function submittedJobs(folder: string): string[] {
  let names: string[];
  try {
    names = readdirSync(slurmFolder(folder));
  } catch {
    return [];
  }
  return names.flatMap((name) => /^(\d+)\.json$/.exec(name)?.[1] ?? []).sort((a, b) => Number(a) - Number(b));
}

export const slurm = defineLauncher({
  id: "slurm",
  about: "A Slurm array job, whose tasks write a checkpoint before their time limit and are requeued.",
  options: {
    partition: option(text, "the partition"),
    account: option(text, "the account to charge"),
    qos: option(text, "the quality of service"),
    gres: option(text, "generic resources of each task, such as gpu:1"),
    constraint: option(text, "required features of the nodes, such as a100"),
    cpus_per_task: option(whole(1), "the number of cores per task, and of threads per run", { default: 4 }),
    mem_gb: option(number({ above: 0 }), "the memory per task, in GB"),
    timeout_min: option(whole(1), "the time limit of a task, in minutes (default: that of the partition)"),
    array_parallelism: option(whole(1), "the maximum number of parallel tasks (default: no limit)"),
    runs_per_task: option(whole(1), "the number of runs per task, one after another", { default: 1 }),
    signal_seconds: option(whole(1), "seconds before its limit at which Slurm signals a task", { default: 120 }),
    setup: option(lines, "shell lines before the command (module load cuda); can be repeated"),
    extra: option(lines, "more options of sbatch, such as --exclude=node7; can be repeated"),
  },

  async launch(context, options) {
    const { folder, name, program, rules, cancelToken, device } = context;
    const { cpus_per_task, runs_per_task, signal_seconds: warning, ...script } = options;
    const threads = context.threads(cpus_per_task);
    const waiting = context.waiting().length;
    if (waiting === 0) {
      context.say("no run is waiting, so nothing was submitted");
      return "settled";
    }
    const runs = Math.min(waiting, context.most ?? waiting);
    const each = Math.max(runs_per_task, Math.ceil(runs / (await largestArray())));
    const tasks = Math.ceil(runs / each);
    const logs = slurmFolder(folder);
    makeFolder(logs);
    const command = [...program, "sweep", "slurm-task", folder, "--threads", String(threads), "--runs", String(each)];
    command.push("--launched-under", cancelToken, ...ruleWords(rules), ...pluginWords());
    if (device !== undefined) command.push("--device", device);
    const content = slurmScript({ ...script, cpus_per_task, name: `nudge-${name}`, tasks, warning, logs, command });
    const path = join(logs, "job.sh");
    writeText(path, content);
    const job = (await slurmCommand("sbatch", "--parsable", path)).trim().split(";")[0];
    writeText(join(logs, `${job}.sh`), content);
    writeText(join(logs, `${job}.json`), `${JSON.stringify({ job, tasks, runs })}\n`);
    context.say(`submitted as Slurm job ${job}: ${tasks} tasks for ${runs} runs (${join(logs, `${job}.sh`)})`);
    context.say("the jobs need only the folder, so this command ends now");
    return "handed over";
  },

  async jobs(folder) {
    const jobs = submittedJobs(folder);
    const queued = await queuedTasks(jobs);
    const lines = jobs.flatMap((job) => {
      const tasks = queued.filter(({ task }) => task.split("_")[0] === job);
      if (tasks.length === 0) return [];
      const count = (state: string): number => tasks.filter((each) => each.state === state).length;
      const [running, pending] = [count("RUNNING"), count("PENDING")];
      const others = tasks.length - running - pending;
      const reason = tasks.find(({ state }) => state === "PENDING")?.reason;
      const parts = [
        ...(running > 0 ? [`${running} running`] : []),
        ...(pending > 0 ? [`${pending} pending${reason ? ` (${reason})` : ""}`] : []),
        ...(others > 0 ? [`${others} ending`] : []),
      ];
      return [`Slurm job ${job}: ${parts.join(", ")}`];
    });
    const gone = jobs.filter((job) => !queued.some(({ task }) => task.split("_")[0] === job));
    const ended = await endedTasks(gone);
    const states = ended && [...ended].map(([state, count]) => `${count} ${state.toLowerCase()}`);
    return [...lines, ...(states?.length ? [`Slurm jobs that ended: tasks ${states.join(", ")}`] : [])];
  },

  async cancel(folder) {
    const queued = await queuedTasks(submittedJobs(folder));
    const jobs = [...new Set(queued.map(({ task }) => task.split("_")[0]))];
    if (jobs.length === 0) return [];
    await slurmCommand("scancel", ...jobs);
    return [`Slurm job${jobs.length === 1 ? "" : "s"} ${jobs.join(", ")}: cancelled (scancel)`];
  },
});
