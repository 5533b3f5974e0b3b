/** `nudge sweep plan`: determines the runs of a sweep, what they would cost, and which ones already exist. */

import { join } from "node:path";
import { Command } from "commander";
import type { Request } from "../declared-settings/keys.js";
import { UsageError } from "../errors.js";
import { mergePairs, readConfig, readPairs } from "../settings/read-request.js";
import type { Estimate } from "../sweep/estimate.js";
import type { Growth } from "../sweep/grow-plan.js";
import { keptModels } from "../sweep/kept-models.js";
import type { MadePlan, PlanRequest } from "../sweep/make-plan.js";
import { type PlannedRun, uncountedPlan } from "../sweep/sweep-folder.js";
import { addKeyFlags, flagOf, keysIn } from "./key-flags.js";
import { withWeights } from "./offer-weights.js";
import { oneOf, realNumber } from "./parse-options.js";
import { loadedPlugins } from "./plugins.js";
import type { PlanOutcome } from "./sweep-plan-words.js";
import { terminalLine } from "./terminal-line.js";
import { checkFolder } from "./writable-place.js";

type Write = (text: string) => void;

/** Options that plan a sweep. `run` accepts them too. */
export interface PlanFlags {
  out?: string;
  preset?: string;
  config?: string;
  name?: string;
  referenceJobs?: true;
  grid?: Request;
  measure?: boolean;
  yes?: true;
  [option: string]: unknown;
}

/** Options that are lists of the sweep, or that have the name of a setting. */
const LISTS = [
  ...["data", "algorithms", "regularizers", "testDomains", "pairs", "trials", "hparams", "seeds", "grid", "root"],
  "batchSize",
];

/** Settings of all runs that have flags, in the order of the help. */
const METHOD = ["protocol", "backbone", "weights", "pretrained", "probe", "steps", "evaluateEvery"] as const;
const REST = ["sharedSearch", "device", "precision"] as const;

/** Adds the options that plan a sweep to a command. */
export function addPlanOptions(command: Command): Command {
  command
    .option(
      "--preset <name>",
      "plan a table or figure of the paper: table1 … table9, figure2 … figure4 (nudge sweep plan --list-presets)",
    )
    .option("--config <file>", "read lists and settings from a YAML file")
    .option("--data <names>", "datasets by name or path (comma-separated)")
    .option("--root <dir>", "the folder that contains the named datasets")
    .option(
      "--algorithms <names>",
      "algorithms, or methods as papers name them (ERM-NU, SWAD-NU), or all; with a preset, a selection of its methods",
    )
    .option(
      "--regularizers <sets>",
      "penalties to add to each algorithm: none, nuclear-norm, or both separated by a comma; + combines two in one run",
    )
    .option(
      "--test-domains <sets>",
      "sets of held-out domains: photo,sketch for two sets, or photo+sketch for one set of two (default: each domain in turn)",
    )
    .option("--pairs", "also hold out every pair of domains, for leave-one-domain-out cross-validation")
    .option(
      "--trials <n>",
      "the number of trials, each with its own split: 3, or 3-5 for seeds 3, 4 and 5 (default: 3)",
    )
    .option(
      "--hparams <n>",
      "the number of hyperparameter draws: 20, or 1-19 for a range; draw 0 is the defaults (default: 1)",
    )
    .option(
      "--seeds <n>",
      "the number of runs of each trial and draw, with different seeds: the seed of the trial, and 1000, 2000, … added to it (default: 1)",
    )
    .option(
      "--soup [kind]",
      "add a row: the averaged weights of the runs of each trial, over draws and seeds; greedy (by validation; the default) or uniform",
      oneOf("--soup", ["greedy", "uniform"] as const),
    )
    .option("--ensemble", "add a row: the mean of the logits of the runs of each trial, over draws and seeds")
    .option("--grid <setting=values>", "run with each of these values of a setting; can be repeated", addGrid);
  addKeyFlags(command, METHOD).option("--batch-size <n>", "the number of pictures per training domain in a batch");
  return addKeyFlags(command, REST)
    .option("--yes", "download missing pretrained weights without asking")
    .option(
      "--models <which>",
      "the models that stay on disk: all (the default), chosen (of each trial and set of held-out domains, that of the run that validation chooses among draws and seeds) or none",
      oneOf("--models", keptModels),
    )
    .option("--name <name>", "the name of the sweep")
    .option("--reference-jobs", "use the seeds and names that DomainBed gives these jobs");
}

/** Options that a planned sweep accepts too: where it runs. */
const OF_PLACE = ["root", "device", "yes"];

/** The given options, as typed, that only a plan can use. */
export function planFlagsIn(flags: PlanFlags): string[] {
  const given = addPlanOptions(new Command()).options.filter((option) => {
    const value = flags[option.attributeName()];
    return value !== undefined && option.negate === (value === false) && !OF_PLACE.includes(option.attributeName());
  });
  return given.map(({ long }) => long!);
}

function addGrid(text: string, before: Request | undefined): Request {
  const [[name, value]] = Object.entries(readPairs([text]));
  if (before && Object.hasOwn(before, name))
    throw new UsageError(`--grid ${name} is given twice: ${before[name]} and ${value}; write all values in one list`);
  return { ...before, [name]: value };
}

export function planCommand(write: Write = (text) => void process.stdout.write(text)): Command {
  const command = new Command("plan")
    .description(
      "Plans a sweep: datasets × methods × held-out domains × trials × draws or a grid, written to a folder for nudge sweep run. Planning the same sweep again changes nothing; planning more runs keeps the existing ones. Methods that share a training trajectory, such as ERM and SWAD, share one run.",
    )
    .argument(
      "[key=value...]",
      "settings of all runs: lr=1e-4 data.size=32; a setting with a prefix (swad.tolerance=0.2) applies to the runs that have it",
    );
  return addPlanOptions(command)
    .option("--out <dir>", "the folder of the sweep (default: sweeps/<name>)")
    .option("--list-presets", "list the presets")
    .option("--dry-run", "write nothing")
    .option("--show-jobs", "with --reference-jobs: print every run with its name in DomainBed")
    .option("--no-measure", "skip the measured trial, and with it the estimate of time and disk space")
    .option("--measure-seconds <n>", "the approximate duration of the measured trial", "20")
    .option("--json", "print the result as JSON")
    .addHelpText("after", EXAMPLES)
    .action(async (pairs: string[], flags: PlanFlags) => {
      if (flags.listPresets) return listPresets(write, flags.json === true);
      return plan(pairs, flags, write);
    });
}

const EXAMPLES = `
Examples:
  nudge sweep plan --data shapes --algorithms ERM,ERM-NU,SWAD-NU --steps 300 --out sweeps/shapes
  nudge sweep plan --preset table1 --root /data/domainbed
  nudge sweep plan --preset table1 --data shapes --hparams 1 --trials 2 --steps 200
  nudge sweep plan --preset figure4 --data pacs --root data --grid nuclear-norm.weight=0.01,0.03
  nudge sweep plan --data pacs --root data --algorithms all --pairs --hparams 20 --reference-jobs
  nudge sweep plan --data pacs --root data --algorithms ERM,SWAD --seeds 3 --soup --ensemble
  nudge sweep plan --data ./pictures --algorithms ERM,ERM-NU --probe --backbone mobilenet_v2
  nudge sweep plan --config sweep.yaml --out sweeps/mine

A YAML file contains the same lists; every other key is a setting of the runs:
  data: [pacs, vlcs]
  algorithms: [ERM, ERM-NU]
  trials: 3
  grid: { nuclear-norm.weight: [0.001, 0.01] }
  steps: 300
`;

/** The request, from the options, the file and the settings. */
export function askedBy(pairs: readonly string[], flags: PlanFlags): PlanRequest {
  const {
    name,
    preset,
    models: modelsInFile,
    ...file
  } = flags.config === undefined ? ({} as Request) : readConfig(flags.config);
  const named = LISTS.filter((name) => flags[name] !== undefined).map((name) => [name, flags[name]]);
  const settings = keysIn(flags, [...METHOD, ...REST]);
  const combine = combinedBy(flags);
  const given: Request = {
    ...{ ...file, ...mergePairs({ ...Object.fromEntries(named), ...settings }, pairsOf(pairs, flags), flagOf) },
    ...(combine.length > 0 && { combine }),
  };
  const requested = { name: flags.name ?? name, preset: flags.preset ?? preset };
  for (const [key, value] of Object.entries(requested))
    if (value !== undefined && typeof value !== "string") throw new UsageError(`${key}: expected a name, got ${value}`);
  const models = (flags.models ?? modelsInFile) as PlanRequest["models"];
  if (models !== undefined && !keptModels.includes(models))
    throw new UsageError(`models: expected ${keptModels.join(", ")}, got ${models}`);
  const { name: called, preset: chosen } = requested as { name?: string; preset?: string };
  if (Object.keys(given).length === 0 && chosen === undefined)
    throw new UsageError("nothing to plan: use --preset, --config or --data; see nudge sweep plan --help");
  return {
    ...(called !== undefined && { name: called }),
    ...(chosen !== undefined && { preset: chosen }),
    ...(flags.referenceJobs && { referenceJobs: true }),
    ...(models !== undefined && { models }),
    given,
  };
}

/** The settings of all runs, which must not be in the grid too. */
function pairsOf(pairs: readonly string[], { grid = {} }: PlanFlags): Request {
  const settings = readPairs(pairs);
  const twice = Object.keys(settings).find((name) => Object.hasOwn(grid, name));
  if (twice !== undefined)
    throw new UsageError(
      `${twice} is given twice: ${twice}=${settings[twice]} and --grid ${twice}=${grid[twice]}; remove one of them`,
    );
  return settings;
}

/** The combinations of runs that the flags request. */
function combinedBy({ soup, ensemble }: PlanFlags): string[] {
  return [...(soup ? [soup === "uniform" ? "uniform-soup" : "soup"] : []), ...(ensemble ? ["ensemble"] : [])];
}

/** The default folder of sweeps. */
const SWEEPS = "sweeps";

/** Rejects a folder that cannot be written to, before anything is planned. */
export const checkPlace = ({ out }: PlanFlags): void => checkFolder(out ?? SWEEPS);

/** The folder of a sweep that is planned. */
export const folderFor = (made: MadePlan, flags: PlanFlags): string => flags.out ?? join(SWEEPS, made.words.name);

async function plan(pairs: readonly string[], flags: PlanFlags, write: Write): Promise<void> {
  if (!flags.dryRun) checkPlace(flags);
  const { begunIn, existingRuns, growPlan, growthOf } = await import("../sweep/grow-plan.js");
  const { makePlan } = await import("../sweep/make-plan.js");
  const seconds = realNumber("--measure-seconds", { least: 0 })(String(flags.measureSeconds));
  const request = askedBy(pairs, flags);
  const line = terminalLine();
  const made = await withWeights(() => makePlan(request, (runs) => line.show(`planning: ${runs} runs`)), flags.yes);
  line.clear();
  const folder = folderFor(made, flags);
  const news = growthOf(uncountedPlan(folder), made.runs, begunIn(folder));
  // The plan already contains the costs of runs that were planned before.
  const estimate = flags.measure === false || news.added.length === 0 ? undefined : await measure(news.added, seconds);
  const costs = new Map(news.added.map(({ id }, i) => [id, estimate && toTenths(estimate.seconds[i])]));
  const runs = estimate ? made.runs.map((run) => ({ ...run, cost: costs.get(run.id) })) : made.runs;
  const growth: Growth = flags.dryRun
    ? news
    : await growPlan(folder, { ...made.words, plugins: loadedPlugins() }, runs);
  const existing = existingRuns(
    folder,
    made.runs.filter(({ id }) => !growth.changed.has(id)),
  );
  if (flags.json) {
    write(`${JSON.stringify(planAsData({ made, folder, growth, existing, estimate }))}\n`);
    return;
  }
  if (flags.showJobs)
    for (const { referenceJob = "-".repeat(32), name, title } of made.runs)
      write(`${referenceJob}  ${name}  ${title}\n`);
  const { planInWords } = await import("./sweep-plan-words.js");
  write(planInWords({ made, folder, growth, existing, estimate, dryRun: flags.dryRun === true }));
}

const toTenths = (seconds: number): number => Math.round(10 * seconds) / 10;

/** Tries runs of every kind on this machine. Returns undefined, with a message, if that is not possible. */
async function measure(runs: readonly PlannedRun[], seconds: number): Promise<Estimate | undefined> {
  const [{ estimateRuns }, { SettingsMemo }, { defaultDevice }] = await Promise.all([
    import("../sweep/estimate.js"),
    import("../settings/memo.js"),
    import("../engine/device.js"),
  ]);
  const requested = runs[0].request.device;
  const device = typeof requested === "string" ? requested : defaultDevice();
  const line = terminalLine();
  const onTrial = (title: string): void => line.show(`measuring: ${title}`);
  try {
    return await estimateRuns(runs, { memo: new SettingsMemo(), device, seconds, onTrial });
  } catch (error) {
    // A plan can be made on a machine that cannot execute its runs, for example without their GPU.
    process.stderr.write(`nudge: no estimate, because a trial failed: ${(error as Error).message}\n`);
    return undefined;
  } finally {
    line.clear();
  }
}

/** The result for --json. */
function planAsData({ made, folder, growth, existing, estimate }: Omit<PlanOutcome, "dryRun">): object {
  const { added, moved, changed, ...counts } = growth;
  const { seconds, ...facts } = estimate ?? { seconds: [] };
  const total = seconds.reduce((sum, each) => sum + each, 0);
  const { models = "all" } = made.words;
  return {
    folder,
    asked: made.runs.length,
    added: added.length,
    moved: moved.size,
    changed: changed.size,
    ...counts,
    ...existing,
    notes: made.notes,
    estimate: estimate
      ? { ...facts, disk: estimate.disk[models], diskByModels: estimate.disk, seconds: total, atATime: 1 }
      : null,
  };
}

async function listPresets(write: Write, json: boolean): Promise<void> {
  const { partInWords, presets } = await import("../sweep/presets.js");
  if (json) return write(`${JSON.stringify(Object.values(presets), null, 2)}\n`);
  for (const { id, title, about, parts } of Object.values(presets)) {
    write(`${id.padEnd(8)} ${title}\n`);
    for (const part of parts) write(`         ${part.data.join(", ")}: ${partInWords(part)}\n`);
    write(`         ${about}\n\n`);
  }
}
