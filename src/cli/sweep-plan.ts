/** `nudge sweep plan`: which runs make a sweep, what they would cost, and which are there already. */

import { join } from "node:path";
import { Command } from "commander";
import { UsageError } from "../errors.js";
import type { Request } from "../settings/keys.js";
import { readConfig, readPairs } from "../settings/read-request.js";
import type { Estimate } from "../sweep/estimate.js";
import type { Growth, MadePlan, PlannedRun, SweepAsked } from "../sweep/index.js";
import { addKeyFlags, keysIn } from "./key-flags.js";
import { withWeights } from "./offer-weights.js";
import { realNumber } from "./parse-options.js";
import type { PlanOutcome } from "./sweep-plan-words.js";
import { terminalLine } from "./terminal-line.js";
import { checkFolder } from "./writable-place.js";

type Write = (text: string) => void;

/** Options that plan a sweep; `run` takes them too. */
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

/** Options that are lists of the sweep, or go by the name of a setting. */
const LISTS = [
  ...["data", "algorithms", "regularizers", "testDomains", "pairs", "trials", "hparams", "grid", "root", "batchSize"],
];

/** Settings of all its runs that have flags, in the order of the help. */
const METHOD = ["protocol", "backbone", "weights", "pretrained", "probe", "steps", "evaluateEvery"] as const;
const REST = ["device", "precision"] as const;

/** Adds the options that plan a sweep to a command. */
export function addPlanOptions(command: Command): Command {
  command
    .option(
      "--preset <name>",
      "a table or figure of the paper: table1 … table9, figure2 … figure4 (nudge sweep plan --list-presets)",
    )
    .option("--config <file>", "lists and settings from a YAML file")
    .option("--data <names>", "datasets, by name or path, with commas between them")
    .option("--root <dir>", "the folder that named datasets lie in")
    .option(
      "--algorithms <names>",
      "algorithms, or methods as papers name them (ERM-NU, SWAD-NU), or all; with a preset, those of its methods",
    )
    .option(
      "--regularizers <sets>",
      "penalties to add to each: none, nuclear-norm, or both with a comma; + joins two in one run",
    )
    .option(
      "--test-domains <sets>",
      "domains held out, one set after the other: photo,sketch or photo+sketch (default: each in turn)",
    )
    .option("--pairs", "hold out every two domains together as well, for leave-one-domain-out cross-validation")
    .option("--trials <n>", "trials, each with a split of its own: 3, or 3-5 for the seeds 3, 4, 5 (default: 3)")
    .option("--hparams <n>", "draws of hyperparameters, of which 0 is the defaults: 20, or 1-19 (default: 1)")
    .option(
      "--grid <setting=values>",
      "a setting that takes each of some values; may be given more than once",
      addGrid,
    );
  addKeyFlags(command, METHOD).option("--batch-size <n>", "pictures of each training domain in a batch");
  return addKeyFlags(command, REST)
    .option("--yes", "download trained weights that are missing, without a question")
    .option("--name <name>", "what the sweep is called")
    .option("--reference-jobs", "the seeds that the reference testbed gives these jobs, and its names for them");
}

function addGrid(text: string, before: Request | undefined): Request {
  return { ...before, ...readPairs([text]) };
}

export function planCommand(write: Write = (text) => void process.stdout.write(text)): Command {
  const command = new Command("plan")
    .description(
      "Plans a sweep: datasets × methods × held-out domains × trials × draws or a grid, written to a folder that nudge sweep run works on. Planned again it changes nothing; planned with more, it keeps what is there. Methods that share a trajectory, as ERM and SWAD do, are one run.",
    )
    .argument(
      "[key=value...]",
      "settings of all runs: lr=1e-4 data.size=32; one with an owner (swad.tolerance=0.2) goes to those that have it",
    );
  return addPlanOptions(command)
    .option("--out <dir>", "the sweep's folder (default: sweeps/<name>)")
    .option("--list-presets", "say what each preset is")
    .option("--dry-run", "write nothing")
    .option("--show-jobs", "with --reference-jobs: every run with the reference's name for it")
    .option("--no-measure", "no measured trial, and so no estimate of time and disk")
    .option("--measure-seconds <n>", "how long the measured trial may take, roughly", "20")
    .option("--json", "print the plan's outcome as JSON")
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
  nudge sweep plan --data ./pictures --algorithms ERM,ERM-NU --probe --backbone mobilenet_v2
  nudge sweep plan --config sweep.yaml --out sweeps/mine

A YAML file has the same lists, and any other key is a setting of the runs:
  data: [pacs, vlcs]
  algorithms: [ERM, ERM-NU]
  trials: 3
  grid: { nuclear-norm.weight: [0.001, 0.01] }
  steps: 300
`;

/** What the options, the file and the settings ask for. */
export function askedBy(pairs: readonly string[], flags: PlanFlags): SweepAsked {
  const { name, preset, ...file } = flags.config === undefined ? ({} as Request) : readConfig(flags.config);
  const named = LISTS.filter((name) => flags[name] !== undefined).map((name) => [name, flags[name]]);
  const settings = keysIn(flags, [...METHOD, ...REST]);
  const given: Request = { ...file, ...Object.fromEntries(named), ...settings, ...readPairs(pairs) };
  const asked = { name: flags.name ?? name, preset: flags.preset ?? preset };
  for (const [key, value] of Object.entries(asked))
    if (value !== undefined && typeof value !== "string") throw new UsageError(`${key}: expected a name, got ${value}`);
  const { name: called, preset: chosen } = asked as { name?: string; preset?: string };
  if (Object.keys(given).length === 0 && chosen === undefined)
    throw new UsageError("nothing to plan: give --preset, --config or --data; see nudge sweep plan --help");
  return {
    ...(called !== undefined && { name: called }),
    ...(chosen !== undefined && { preset: chosen }),
    ...(flags.referenceJobs && { referenceJobs: true }),
    given,
  };
}

/** Where sweeps are, unless told. */
const SWEEPS = "sweeps";

/** Refuses a place for a sweep that cannot be written to, before anything is planned. */
export const checkPlace = ({ out }: PlanFlags): void => checkFolder(out ?? SWEEPS);

/** The folder of a sweep that is planned. */
export const folderFor = (made: MadePlan, flags: PlanFlags): string => flags.out ?? join(SWEEPS, made.words.name);

async function plan(pairs: readonly string[], flags: PlanFlags, write: Write): Promise<void> {
  if (!flags.dryRun) checkPlace(flags);
  const { existingRuns, growPlan, growthOf, makePlan, uncountedPlan } = await import("../sweep/index.js");
  const seconds = realNumber("--measure-seconds", { least: 0 })(String(flags.measureSeconds));
  const asked = askedBy(pairs, flags);
  const line = terminalLine();
  const made = await withWeights(() => makePlan(asked, (runs) => line.show(`planning: ${runs} runs`)), flags.yes);
  line.clear();
  const folder = folderFor(made, flags);
  const news = growthOf(uncountedPlan(folder), made.runs);
  // Costs of runs that are planned already are in the plan.
  const estimate = flags.measure === false || news.added.length === 0 ? undefined : await measure(news.added, seconds);
  const costs = new Map(news.added.map(({ id }, i) => [id, estimate && toTenths(estimate.seconds[i])]));
  const runs = estimate ? made.runs.map((run) => ({ ...run, cost: costs.get(run.id) })) : made.runs;
  const growth: Growth = flags.dryRun ? news : await growPlan(folder, made.words, runs);
  const existing = existingRuns(folder, made.runs);
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

/** Tries runs of every kind on this machine; undefined, and told, where that cannot be done. */
async function measure(runs: readonly PlannedRun[], seconds: number): Promise<Estimate | undefined> {
  const [{ estimateRuns }, { SettingsMemo }, { defaultDevice }] = await Promise.all([
    import("../sweep/estimate.js"),
    import("../settings/memo.js"),
    import("../engine/device.js"),
  ]);
  const asked = runs[0].request.device;
  const device = typeof asked === "string" ? asked : defaultDevice();
  const line = terminalLine();
  const onTrial = (title: string): void => line.show(`measuring: ${title}`);
  try {
    return await estimateRuns(runs, { memo: new SettingsMemo(), device, seconds, onTrial });
  } catch (error) {
    // A plan may be made where its runs cannot be, such as without their GPU.
    process.stderr.write(`nudge: no estimate, since a trial failed: ${(error as Error).message}\n`);
    return undefined;
  } finally {
    line.clear();
  }
}

/** The outcome for --json. */
function planAsData({ made, folder, growth, existing, estimate }: Omit<PlanOutcome, "dryRun">): object {
  const { added, moved, ...counts } = growth;
  const { seconds, ...facts } = estimate ?? { seconds: [] };
  const total = seconds.reduce((sum, each) => sum + each, 0);
  return {
    folder,
    asked: made.runs.length,
    added: added.length,
    moved: moved.size,
    ...counts,
    ...existing,
    notes: made.notes,
    estimate: estimate ? { ...facts, seconds: total, atATime: 1 } : null,
  };
}

async function listPresets(write: Write, json: boolean): Promise<void> {
  const { partInWords, presets } = await import("../sweep/index.js");
  if (json) return write(`${JSON.stringify(Object.values(presets), null, 2)}\n`);
  for (const { id, title, about, parts } of Object.values(presets)) {
    write(`${id.padEnd(8)} ${title}\n`);
    for (const part of parts) write(`         ${part.data.join(", ")}: ${partInWords(part)}\n`);
    write(`         ${about}\n\n`);
  }
}
