/** `nudge sweep run`: does what is missing of a sweep, with a launcher. Loads no engine itself. */

import { readFileSync } from "node:fs";
import { Command } from "commander";
import { parse } from "yaml";
import { DataError, UsageError } from "../errors.js";
import { quoteWords } from "../files/shell-words.js";
import { launch } from "../sweep/launch.js";
import { visibleGpus } from "../sweep/launchers/gpus.js";
import { type LaunchEnd, launcherNamed, launchers } from "../sweep/launchers/index.js";
import { RESUMABLE } from "./failure.js";
import { withWeights } from "./offer-weights.js";
import { ownCommand } from "./own-command.js";
import { wholeNumber } from "./parse-options.js";
import { onStopLevels } from "./stop-levels.js";
import { type RuleFlags, rulesIn, withRules } from "./sweep-flags.js";
import { addPlanOptions, askedBy, checkPlace, folderFor, type PlanFlags } from "./sweep-plan.js";

export interface RunFlags extends RuleFlags, PlanFlags {
  launcher?: string;
  jobs?: number;
  option?: readonly string[];
  options?: string;
  device?: string;
  threads?: number;
  runs?: number;
  stay: boolean;
}

/** Adds the options of launching; those of planning, with the device, are there. */
function withLaunching(command: Command): Command {
  return withRules(command)
    .option("--launcher <name>", `${Object.keys(launchers).join(", ")} (default: gpus where there are any, else local)`)
    .option("--jobs <n>", "runs at a time on this machine: -o jobs=<n> of launcher local", wholeNumber("--jobs", 1))
    .option(
      "-o, --option <name=value>",
      "an option of the launcher; may be given often",
      (word: string, before: readonly string[] = []) => [...before, word],
    )
    .option("--options <file>", "options of the launcher from a YAML file; -o goes before it")
    .option("--threads <n>", "CPU threads of a run; the sweep's first launch fixes it", wholeNumber("--threads", 1))
    .option("--runs <n>", "make so many runs at most", wholeNumber("--runs", 1))
    .option("--no-stay", "end when nothing is left to begin, though others are still at work on some runs")
    .addHelpText("after", () => `\nLaunchers, and their options (-o name=value):\n${launchersInWords()}`);
}

function launchersInWords(): string {
  return Object.values(launchers)
    .map(({ id, about, options }) => {
      const own = Object.entries(options).map(([name, { help, default: usual }]) => {
        const by = usual === undefined ? "" : ` (default: ${usual})`;
        return `    ${name.padEnd(18)}${help}${by}`;
      });
      return [`  ${id}: ${about}`, ...own].join("\n");
    })
    .join("\n");
}

export function sweepRunCommand(): Command {
  const command = new Command("run")
    .description(
      "Does what is missing of a sweep: runs that are done stay, runs that were begun go on. It may be stopped, killed, and started on several machines that share the folder: no run is made twice. With options of planning, it plans first.",
    )
    .argument("[words...]", "the folder of a sweep; where it is planned first, settings of all runs as key=value")
    .option("--out <dir>", "where it is planned first: the sweep's folder (default: sweeps/<name>)");
  return withLaunching(addPlanOptions(command))
    .addHelpText(
      "after",
      `
Examples:
  nudge sweep run sweeps/table1                      on this machine, one run a core (or a GPU)
  nudge sweep run --preset table1 --data shapes --trials 1 --steps 200 --out sweeps/small
  nudge sweep run sweeps/table1 --jobs 2 --retries 1
  nudge sweep run sweeps/table1 --launcher gpus -o per_gpu=2
  nudge sweep run sweeps/table1 --launcher slurm -o partition=gpu -o gres=gpu:1 -o timeout_min=240 \\
    -o array_parallelism=16 -o "setup=module load cuda"
  nudge sweep run sweeps/table1 --launcher print > commands.txt

Exit codes: 0 all done or handed over, 1 some failed, 75 stopped and can go on.`,
    )
    .action(async (words: string[], flags: RunFlags) => runSweep(await sweepFor(words, flags), flags));
}

/** Options without which there is nothing to plan. */
const PLANS = ["preset", "config", "data"] as const;

/** The folder of the sweep that is meant; where options of planning are given, it is planned. */
async function sweepFor(words: readonly string[], flags: RunFlags): Promise<string> {
  const pairs = words.filter((word) => word.includes("="));
  const folders = words.filter((word) => !word.includes("="));
  const [folder = flags.out] = folders;
  if (folders.length > 1) throw new UsageError(`expected one folder of a sweep, got ${folders.join(", ")}`);
  if (PLANS.some((name) => flags[name] !== undefined))
    return planFirst(pairs, folder === undefined ? flags : { ...flags, out: folder });
  if (pairs.length > 0)
    throw new UsageError(
      `${pairs[0]}: settings are the plan's; give them to nudge sweep plan, or --preset or --data here`,
    );
  if (folder === undefined)
    throw new UsageError("which sweep? Give its folder, or what to plan: --preset, --config or --data");
  return folder;
}

async function planFirst(pairs: readonly string[], flags: RunFlags): Promise<string> {
  checkPlace(flags);
  const { growPlan, makePlan } = await import("../sweep/index.js");
  const asked = askedBy(pairs, flags);
  const made = await withWeights(() => makePlan(asked), flags.yes);
  const folder = folderFor(made, flags);
  const { runs, added } = await growPlan(folder, made.words, made.runs);
  process.stderr.write(`${folder}: ${runs} runs planned, ${added.length} of them new\n`);
  for (const note of made.notes) process.stderr.write(`note: ${note}\n`);
  return folder;
}

/** Runs the sweep in a folder. */
async function runSweep(dir: string, flags: RunFlags): Promise<void> {
  const launcher = launcherNamed(flags.launcher ?? (visibleGpus().length > 0 ? "gpus" : "local"));
  const rules = rulesIn(flags);
  const say = (line: string): void => void process.stderr.write(`${line}\n`);
  using stop = onStopLevels(["SIGINT", "SIGTERM"], (signal, level) =>
    say(
      level === 1
        ? `${signal}: the runs finish their step and write a checkpoint; once more to kill them`
        : `${signal}: the runs are killed; they go on from their last checkpoints`,
    ),
  );
  const { end, runs, done } = await launch({
    folder: dir,
    launcher,
    options: optionsIn(flags),
    rules,
    program: ownCommand(),
    device: flags.device as string | undefined,
    threads: flags.threads,
    most: flags.runs ?? null,
    stay: flags.stay,
    stop,
    say,
    print: (line) => void process.stdout.write(`${line}\n`),
  });
  say(endLine(end, dir, { runs, done }));
  process.exitCode = exitCode(end, runs - done);
}

/** The launcher's options: a file's, then those of the command line; one that is given often is a list of lines. */
function optionsIn({ options, option = [], jobs }: RunFlags): Record<string, unknown> {
  const given: Record<string, unknown> = {};
  for (const word of option) {
    const at = word.indexOf("=");
    if (at < 1) throw new UsageError(`-o ${word}: expected name=value, such as -o partition=gpu`);
    const [name, value] = [word.slice(0, at), word.slice(at + 1)];
    given[name] = name in given ? `${given[name]}\n${value}` : value;
  }
  return { ...(options ? readOptionsFile(options) : {}), ...given, ...(jobs === undefined ? {} : { jobs }) };
}

function readOptionsFile(path: string): Record<string, unknown> {
  let parsed: unknown;
  try {
    parsed = parse(readFileSync(path, "utf8"));
  } catch (cause) {
    throw new DataError(`${path}: the launcher's options could not be read: ${(cause as Error).message}`, { cause });
  }
  if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed))
    throw new DataError(`${path}: expected options by name, as in "partition: gpu"`);
  return parsed as Record<string, unknown>;
}

function endLine(end: LaunchEnd, dir: string, { runs, done }: { runs: number; done: number }): string {
  const folder = quoteWords([dir]);
  const status = `nudge sweep status ${folder}`;
  switch (end) {
    case "handed over":
      return `see how it goes with: ${status}`;
    case "stopped":
    case "cancelled":
    case "enough":
      return `${end === "enough" ? "made as many as were asked for" : end}: ${done} of ${runs} done; go on with: nudge sweep run ${folder}`;
    case "too many failures":
      return `too many runs failed, so no more were begun: ${done} of ${runs} done; see: ${status}`;
    case "settled":
      return done === runs
        ? `all ${runs} done; tables: nudge report ${folder}`
        : `${done} of ${runs} done, ${runs - done} failed or taken out; why: ${status}; put back with: nudge sweep retry ${folder}`;
  }
}

function exitCode(end: LaunchEnd, missing: number): number {
  if (end === "handed over" || end === "enough") return 0;
  if (end === "stopped" || end === "cancelled") return RESUMABLE;
  return missing > 0 ? 1 : 0;
}
