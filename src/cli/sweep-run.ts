/** `nudge sweep run`: executes the missing runs of a sweep with a launcher. Loads no engine itself. */

import { Command } from "commander";
import { parse } from "yaml";
import { DataError, UsageError } from "../errors.js";
import { readText } from "../files/open-file.js";
import { quoteWords } from "../files/shell-words.js";
import { launch } from "../sweep/launch.js";
import { visibleGpus } from "../sweep/launchers/gpus.js";
import { type LaunchEnd, launcherNamed, launchers } from "../sweep/launchers/index.js";
import { checkPlugins, runCommand } from "../sweep/run-command.js";
import { readSweepFile, type SweepFile } from "../sweep/sweep-folder.js";
import { RESUMABLE } from "./failure.js";
import { withWeights } from "./offer-weights.js";
import { ownCommand } from "./own-command.js";
import { wholeNumber } from "./parse-options.js";
import { loadedPlugins } from "./plugins.js";
import { onStopLevels } from "./stop-levels.js";
import { type RuleFlags, rulesIn, withRules } from "./sweep-flags.js";
import { addPlanOptions, askedBy, checkPlace, folderFor, type PlanFlags, planFlagsIn } from "./sweep-plan.js";

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

/** Adds the options of launching to those of planning, which include the device. */
function withLaunching(command: Command): Command {
  return withRules(command)
    .option(
      "--launcher <name>",
      `${Object.keys(launchers).join(", ")} (default: gpus if there are any, otherwise local)`,
    )
    .option(
      "--jobs <n>",
      "the number of parallel runs on this machine; same as -o jobs=<n> of launcher local",
      wholeNumber("--jobs", 1),
    )
    .option(
      "-o, --option <name=value>",
      "an option of the launcher; can be repeated",
      (word: string, before: readonly string[] = []) => [...before, word],
    )
    .option("--options <file>", "read options of the launcher from a YAML file; -o takes precedence")
    .option(
      "--threads <n>",
      "the number of CPU threads per run; fixed by the first launch of the sweep",
      wholeNumber("--threads", 1),
    )
    .option("--runs <n>", "execute at most this many runs", wholeNumber("--runs", 1))
    .option("--no-stay", "end when no run is left to start, even if other processes are still working on some")
    .addHelpText("after", () => `\nLaunchers and their options (-o name=value):\n${launchersInWords()}`);
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
      "Executes the missing runs of a sweep: finished runs are kept, and interrupted runs resume. You can stop or kill it at any time, and start it on several machines that share the folder: no run is executed twice. With options of nudge sweep plan, it plans first.",
    )
    .argument("[words...]", "the folder of a sweep; when planning first, also settings of all runs as key=value")
    .option("--out <dir>", "when planning first: the folder of the sweep (default: sweeps/<name>)");
  return withLaunching(addPlanOptions(command))
    .addHelpText(
      "after",
      `
Examples:
  nudge sweep run sweeps/table1                      on this machine, one run per core (or GPU)
  nudge sweep run --preset table1 --data shapes --trials 1 --steps 200 --out sweeps/small
  nudge sweep run sweeps/table1 --jobs 2 --retries 1
  nudge sweep run sweeps/table1 --root /data         a sweep that was planned on another machine
  nudge sweep run sweeps/table1 --launcher gpus -o per_gpu=2
  nudge sweep run sweeps/table1 --launcher slurm -o partition=gpu -o gres=gpu:1 -o timeout_min=240 \\
    -o array_parallelism=16 -o "setup=module load cuda"
  nudge sweep run sweeps/table1 --launcher print > commands.txt

Exit codes: 0 all done or submitted, 1 some failed, 75 stopped and can resume.`,
    )
    .action(async (words: string[], flags: RunFlags) => runSweep(await sweepFor(words, flags), flags));
}

/** Options without which there is nothing to plan. */
const PLANS = ["preset", "config", "data"] as const;

/** The folder of the sweep. If options of planning are given, the sweep is planned first. */
async function sweepFor(words: readonly string[], flags: RunFlags): Promise<string> {
  const pairs = words.filter((word) => word.includes("="));
  const folders = words.filter((word) => !word.includes("="));
  const [folder = flags.out] = folders;
  if (folders.length > 1) throw new UsageError(`expected one folder of a sweep, got ${folders.join(", ")}`);
  if (PLANS.some((name) => flags[name] !== undefined))
    return planFirst(pairs, folder === undefined ? flags : { ...flags, out: folder });
  if (pairs.length > 0)
    throw new UsageError(
      `${pairs[0]}: settings belong to the plan; pass them to nudge sweep plan, or add --preset or --data here`,
    );
  if (folder === undefined)
    throw new UsageError("missing the folder of a sweep; pass it, or plan one with --preset, --config or --data");
  const [planned] = planFlagsIn(flags);
  if (planned !== undefined)
    throw new UsageError(
      `${planned}: this option belongs to the plan; pass it to nudge sweep plan, or add --preset or --data here`,
    );
  if (typeof flags.root === "string") {
    const { movePlan } = await import("../sweep/grow-plan.js");
    await movePlan(folder, flags.root);
  }
  return folder;
}

async function planFirst(pairs: readonly string[], flags: RunFlags): Promise<string> {
  checkPlace(flags);
  const { growPlan } = await import("../sweep/grow-plan.js");
  const { makePlan } = await import("../sweep/make-plan.js");
  const request = askedBy(pairs, flags);
  const made = await withWeights(() => makePlan(request), flags.yes);
  const folder = folderFor(made, flags);
  const { runs, added, changed } = await growPlan(folder, { ...made.words, plugins: loadedPlugins() }, made.runs);
  process.stderr.write(`${folder}: ${runs} runs planned, ${added.length} of them new\n`);
  if (changed.size > 0)
    process.stderr.write(
      `note: the samples or the code of a plug-in have changed since ${changed.size} runs of this sweep began; they are kept, and planned again under other ids\n`,
    );
  for (const note of made.notes) process.stderr.write(`note: ${note}\n`);
  return folder;
}

/** Executes the sweep in a folder. */
async function runSweep(dir: string, flags: RunFlags): Promise<void> {
  const options = optionsIn(flags);
  const sweep = readSweepFile(dir);
  checkPlugins(dir, sweep);
  const launcher = launcherNamed(flags.launcher ?? (visibleGpus().length > 0 ? "gpus" : "local"));
  const rules = rulesIn(flags);
  const say = (line: string): void => void process.stderr.write(`${line}\n`);
  using stop = onStopLevels(["SIGINT", "SIGTERM"], (signal, level) =>
    say(
      level === 1
        ? `${signal}: the runs finish their step and write a checkpoint; press again to kill them`
        : `${signal}: the runs are killed; they will resume from their last checkpoints`,
    ),
  );
  const { end, runs, done } = await launch({
    folder: dir,
    launcher,
    options,
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
  say(endLine(end, dir, { runs, done, sweep }));
  process.exitCode = exitCode(end, runs - done);
}

/**
 * The options of the launcher: first those of the file, then those of the command line. A repeated option becomes a
 * list of lines.
 */
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
    parsed = parse(readText(path));
  } catch (cause) {
    throw new DataError(`${path}: the launcher's options could not be read: ${(cause as Error).message}`, { cause });
  }
  if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed))
    throw new DataError(`${path}: expected options by name, as in "partition: gpu"`);
  return parsed as Record<string, unknown>;
}

function endLine(
  end: LaunchEnd,
  dir: string,
  { runs, done, sweep }: { runs: number; done: number; sweep: SweepFile },
): string {
  const folder = quoteWords([dir]);
  const status = `nudge sweep status ${folder}`;
  switch (end) {
    case "handed over":
      return `follow the progress with: ${status}`;
    case "stopped":
    case "cancelled":
    case "enough":
      return `${end === "enough" ? "stopped after --runs" : end}: ${done} of ${runs} done; resume with: ${runCommand(dir, sweep)}`;
    case "too many failures":
      return `too many runs failed, so no more were started: ${done} of ${runs} done; see: ${status}`;
    case "settled":
      return done === runs
        ? `all ${runs} done; tables: nudge report ${folder}`
        : `${done} of ${runs} done, ${runs - done} failed or cancelled; see why: ${status}; restore with: nudge sweep retry ${folder}`;
  }
}

function exitCode(end: LaunchEnd, missing: number): number {
  if (end === "handed over" || end === "enough") return 0;
  if (end === "stopped" || end === "cancelled") return RESUMABLE;
  return missing > 0 ? 1 : 0;
}
