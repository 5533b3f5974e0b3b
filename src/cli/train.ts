/**
 * `nudge train`: trains one run or resumes one. Every option stands for a setting (`--eval-every 100` is
 * `evaluateEvery=100`), and hyperparameters are given as `key=value`. Settings come from the defaults, then `--config`,
 * then the command line.
 */

import { Command, Option } from "commander";
import { ownCache } from "../data/named-folders.js";
import { showLine } from "../data/show-name.js";
import { movableKeys } from "../declared-settings/declared.js";
import type { Request } from "../declared-settings/keys.js";
import { UsageError } from "../errors.js";
import type { RecipeName } from "../own-data/recipe-plan.js";
import { mergePairs, readConfig, readPairs, requestOver } from "../settings/read-request.js";
import type { TrainSettings } from "../settings/settings.js";
import type { Reporter } from "../training/reporter.js";
import { addKeyFlags, flagOf, keysIn } from "./key-flags.js";
import { withWeights } from "./offer-weights.js";
import { wholeNumber } from "./parse-options.js";
import { onStopSignals, type StopSignals } from "./stop-signals.js";
import { checkFolder } from "./writable-place.js";

interface TrainFlags {
  config?: string;
  resume?: string;
  out: string;
  name?: string;
  leaveOneOut?: boolean;
  recipe?: RecipeName;
  budget?: string;
  findLr?: true;
  yes?: true;
  quiet?: true;
  against?: string;
  trials?: number;
  retrain?: string;
  json?: true;
  [option: string]: unknown;
}

/** Settings that have flags, in the order of the help. */
const DATA = ["data", "root", "testDomains"] as const;
const METHOD = ["probe", "algorithm", "regularizers", "averaging", "backbone", "weights", "pretrained"] as const;
const LENGTH = ["steps", "evaluateEvery"] as const;
const REST = ["seed", "trialSeed", "hparamsSeed", "device", "precision", "threads"] as const;
const FLAGS = [...DATA, ...METHOD, ...LENGTH, ...REST];

const EXAMPLES = `
Examples:
Your own pictures, in folders domain/class/picture (a domain is a camera, a
clinic, a style, …) or in class/picture:
  nudge train --data ./pictures                          offers to download pretrained weights
  nudge train --data ./pictures --probe                  a linear classifier on frozen features
  nudge train --data ./pictures --test-domain clinic-3   excludes one domain, and measures on it
  nudge train --data ./pictures --no-leave-one-out       trains without estimating the accuracy

Benchmarks, by their protocol:
  nudge train --data pacs --root data --test-domain sketch --algorithm SWAD-NU --trial-seed 1
  nudge train --data vlcs --root data --test-domain LabelMe --algorithm coral --hparams-seed 7
  nudge train --data pacs --root data --test-domain sketch --probe --backbone resnet50
  nudge train --data pacs --root data --test-domain sketch --probe sgd --algorithm CORAL-NU
  nudge train --data shapes --test-domain outlined --algorithm ERM-NU nuclear-norm.weight=0.03

Optimizers and schedules (nudge list optimizers, nudge list schedules), and a
learning-rate test:
  nudge train --data ./pictures optimizer=adamw schedule=cosine warmupSteps=50 clipNorm=1 patience=5
  nudge train --data ./pictures --find-lr

Resume a run, or repeat it from its settings:
  nudge train --resume runs/9f2c…
  nudge train --config runs/9f2c…/settings.json --seed 1

Pretrained weights are searched in --weights, then $NUDGE_WEIGHTS (a file or a
folder), then ~/.cache/nudge/weights. If they are missing, the command asks on a
terminal whether to download them. In scripts, use --yes or NUDGE_DOWNLOAD=1, or
download them beforehand with nudge weights get.`;

export function trainCommand(): Command {
  const command = new Command("train")
    .description(
      "Trains a classifier that generalizes to domains it has not seen, and writes a run folder with the model, a report, settings, records, checkpoints and figures. For your own pictures, the folder is all it needs; benchmarks are trained with their published protocol. If a run was stopped or killed, resume it with --resume; on a CPU, the result is identical to that of an uninterrupted run.",
    )
    .argument("[key=value...]", "hyperparameters and other settings: lr=1e-4 nuclear-norm.weight=0.03 data.size=32");
  addKeyFlags(command, DATA)
    .option(
      "--leave-one-out",
      "train on all domains, and once more with each domain held out (the default for your own pictures and with --probe)",
    )
    .addOption(new Option("--no-leave-one-out", "train only one model, on all domains").default(undefined));
  command
    .addOption(
      new Option(
        "--recipe <name>",
        "for your own pictures: auto (the default) chooses between frozen features (the exact probe averaged with the nearest training pictures) and fine-tuned networks by their accuracy on held-out domains; probe or finetune selects one of them",
      ).choices(["auto", "probe", "finetune"]),
    )
    .option(
      "--trials <n>",
      "for your own pictures: fine-tune each fold n times with other seeds and splits, and include their spread in the intervals of the estimate (default: 1)",
      wholeNumber("--trials", 1),
    )
    .option("--budget <time>", "the time budget for everything, such as 10min or 1h (default on a CPU: 20min)");
  addKeyFlags(addKeyFlags(command, METHOD), LENGTH).option(
    "--batch-size <n>",
    "the number of pictures per training domain in a batch",
  );
  return addKeyFlags(command, REST)
    .option("--config <file>", "read settings from a YAML file or from the settings.json of another run")
    .option("--out <dir>", "the folder in which run folders are created", "runs")
    .option(
      "--name <name>",
      "a name for the run: creates a link to it in the same folder (the link latest always points to the last run)",
    )
    .option(
      "--against <run>",
      "for your own pictures: compare the new model with an earlier one, picture by picture, on the pictures that neither was trained on",
    )
    .option("--resume <run>", "resume the run in this folder")
    .option(
      "--retrain <run>",
      "train again with the settings of a finished run on all pictures of its training domains, validation pictures included, for the number of steps that validation chose",
    )
    .option("--find-lr", "run a learning-rate range test instead of training, and plot the losses")
    .option("--yes", "download missing pretrained weights without asking")
    .option("--quiet", "do not print progress")
    .option("--json", "print the result as JSON")
    .addHelpText("after", EXAMPLES)
    .action((pairs: string[], flags: TrainFlags) => run(...withoutPair(pairs, flags)));
}

/** `--probe probeC=0.01` is `--probe` and a pair: the kind of probe is optional, and no kind has an equals sign. */
function withoutPair(pairs: readonly string[], flags: TrainFlags): [readonly string[], TrainFlags] {
  const { probe } = flags;
  return typeof probe === "string" && probe.includes("=")
    ? [[probe, ...pairs], { ...flags, probe: true }]
    : [pairs, flags];
}

async function run(pairs: readonly string[], flags: TrainFlags): Promise<void> {
  const { batchSize } = flags;
  const byFlag: Request = {
    ...keysIn(flags, FLAGS),
    ...(flags.probe === true && { probe: "exact" }),
    ...(batchSize !== undefined && { batchSize }),
  };
  const given = mergePairs(byFlag, readPairs(pairs), flagOf);
  if (flags.resume === undefined) checkFolder(flags.out);
  const against =
    flags.against === undefined ? undefined : (await import("./train-against.js")).earlierModel(flags.against);
  if (flags.name !== undefined) (await import("./run-path.js")).checkName(flags.out, flags.name);
  const [{ checkDevice, defaultDevice }, { streamReporter, quietReporter }] = await Promise.all([
    import("../engine/device.js"),
    import("../training/reporter.js"),
  ]);
  const reporter = flags.quiet ? quietReporter : streamReporter(process.stderr);
  const device = (given.device as string | undefined) ?? defaultDevice();
  checkDevice(device); // before anything is printed or written
  using stop = onStopSignals((signal) =>
    reporter.line(`${signal}: finishing the step; press again to stop immediately`),
  );
  // Awaited here: `stop` listens until this function ends.
  if (flags.resume !== undefined) return await resume(flags.resume, given, { ...flags, device, reporter, stop });
  const request =
    flags.retrain === undefined
      ? requestOver(flags.config ? readConfig(flags.config) : {}, given)
      : await retrained(flags.retrain, given, flags.config);
  await checkGiven(request, given);
  if (flags.retrain === undefined && (await byRecipe(request, flags))) {
    const [{ trainRecipe }, { readBudget }] = await Promise.all([
      import("./train-recipe.js"),
      import("../own-data/recipe-plan.js"),
    ]);
    const budget = flags.budget === undefined ? undefined : readBudget(flags.budget);
    const { recipe = "auto", leaveOneOut, out, name, trials, json } = flags;
    const options = { recipe, budget, leaveOneOut, device, out, name, against, trials, json, reporter, stop };
    return await withWeights(() => trainRecipe(request, options), flags.yes);
  }
  const [{ plansFor }, { trainPlans }] = await Promise.all([
    import("../own-data/plans.js"),
    import("./train-plans.js"),
  ]);
  const comparing = (await import("./compare-progress.js")).compareProgress(reporter, stop);
  const { leaveOneOut } = flags;
  const plans = await withWeights(() => plansFor(request, { leaveOneOut, device, comparing }), flags.yes);
  if (flags.findLr) return await (await import("./find-lr.js")).findLr(plans.main, { ...flags, reporter, stop });
  await trainPlans(plans, { ...flags, against, reporter, stop });
}

/** Refuses ranges, settings that an exact probe does not use, and those that the algorithm of another run does not use. */
async function checkGiven(request: Request, given: Request): Promise<void> {
  const [{ methodOf }, { readKeys }, { checkSearched, SEARCH_RUNS, withoutRanges }, { checkUsed }] = await Promise.all([
    import("../settings/method.js"),
    import("../declared-settings/keys.js"),
    import("../settings/search.js"),
    import("../settings/unused.js"),
  ]);
  checkSearched(request, SEARCH_RUNS);
  const named = readKeys(withoutRanges(request));
  if (named.probe === "exact") (await import("../settings/check-probe.js")).checkExactUses(given);
  if (request.fixed !== undefined) checkUsed(methodOf(named).algorithm, given); // others are checked with the defaults
}

/** Whether a recipe is chosen: for the user's own pictures if no method is named, or if it is requested. */
async function byRecipe(request: Request, { recipe, budget, trials, leaveOneOut }: TrainFlags): Promise<boolean> {
  const [{ datasetFor }, { SettingsMemo }, { isOwnDataset }, { leavesRecipeOpen }] = await Promise.all([
    import("../settings/resolve.js"),
    import("../settings/memo.js"),
    import("../records/own-pictures.js"),
    import("../own-data/recipe-plan.js"),
  ]);
  const open = leavesRecipeOpen(request);
  if ((recipe !== undefined || budget !== undefined || trials !== undefined) && !open)
    throw new UsageError(
      "--recipe, --budget and --trials are for the choice of a method; they cannot be combined with options that name one (--algorithm, --probe, …)",
    );
  const noTrials = recipe === "probe" ? "--recipe probe" : leaveOneOut === false ? "--no-leave-one-out" : undefined;
  if (trials !== undefined && trials > 1 && noTrials !== undefined)
    throw new UsageError(
      `--trials repeats the fine-tuning of each held-out domain, and ${noTrials} has none; remove one of the two`,
    );
  if (!open) return false;
  const dataset = await datasetFor(request, new SettingsMemo());
  return (
    dataset.kind === "pictures" &&
    (recipe !== undefined || budget !== undefined || trials !== undefined || isOwnDataset(dataset.id))
  );
}

/** Resumes a run with its own settings. */
async function resume(
  path: string,
  given: Request,
  { config, device, json, reporter, stop }: TrainFlags & { device: string; reporter: Reporter; stop: StopSignals },
): Promise<void> {
  const [{ planAgain }, { resolve }, { SettingsMemo }, { readTrainSettings }, { trainPlans }, { compareProgress }] =
    await Promise.all([
      import("../own-data/plans.js"),
      import("../settings/resolve.js"),
      import("../settings/memo.js"),
      import("../training/run-folder.js"),
      import("./train-plans.js"),
      import("./compare-progress.js"),
    ]);
  const before = readTrainSettings(path);
  if (before.plugins) (await import("./plugins.js")).requirePlugins(before.plugins, path);
  const request = requestAgain(before, given, config);
  const memo = new SettingsMemo(compareProgress(reporter, stop));
  const main = await resolve({ ...request, device: request.device ?? device }, memo);
  const { checkFacts, asEdition } = await import("../settings/edition.js");
  if (main.settings.hash !== (before.base ?? before.hash)) throw changed(path, before, main.settings);
  checkFacts(path, before.facts, main.settings.facts);
  const own = before.base === undefined ? main : { ...main, settings: asEdition(main.settings) };
  const again = await planAgain(own, memo.comparing);
  const { behindLink } = await import("./run-path.js");
  await trainPlans(
    { main: again, heldOut: [], words: [], own: false },
    { path: behindLink(path), json, reporter, stop },
  );
}

/** The request of a run like a finished one, on all pictures of its training domains, for the steps that validation chose. */
async function retrained(run: string, given: Request, config: string | undefined): Promise<Request> {
  const { readTrainSettings } = await import("../training/run-folder.js");
  const { readValidated, retrainLength } = await import("../training/retrain-length.js");
  const before = readTrainSettings(run);
  const validated = readValidated(run);
  const length = validated && retrainLength(before, validated);
  if (!length) throw new UsageError(`--retrain ${run}: expected a finished run with a step that validation chose`);
  if (before.probe === "exact")
    throw new UsageError(`--retrain ${run}: an exact probe is fitted to all pictures with refit=true`);
  if (before.plugins) (await import("./plugins.js")).requirePlugins(before.plugins, run);
  const again = requestAgain(before, given, config, "--retrain");
  const steps = length.last + 1;
  const schedule = Object.entries(length.schedule).map(([name, value]) => [`${before.schedule?.id}.${name}`, value]);
  const fixed = [
    ...(again.fixed as string[]),
    "steps",
    "evaluateEvery",
    "trainOnAll",
    ...schedule.map(([name]) => name),
  ];
  const own = { steps, evaluateEvery: steps, evaluateFirst: false, trainOnAll: true, retrain: false };
  return { ...again, fixed, ...own, ...Object.fromEntries(schedule) };
}

function requestAgain(before: TrainSettings, given: Request, config: string | undefined, option = "--resume"): Request {
  const other = Object.keys(given).find((name) => !movableKeys.includes(name));
  if (other !== undefined || config !== undefined)
    throw new UsageError(
      `${option} uses the settings of the run, so it cannot be combined with ${other ?? "--config"}; only these can be given: ${movableKeys.join(", ")}`,
    );
  const { cache, ...request } = before.request;
  const own = ownCache(cache); // the run can come from anybody, and a cache is written
  if (cache !== own && given.cache === undefined)
    process.stderr.write(
      `note: ${showLine(String(cache))} is not used as cache, because you have not named it on this machine; with cache=${showLine(String(cache))} it is\n`,
    );
  return { fixed: Object.keys(before.fixed), ...request, ...(own !== undefined && { cache: own }), ...given };
}

/** Settings that follow from the others. */
const SUMMARIES: readonly (keyof TrainSettings)[] = ["hash", "base", "facts", "fixed", "request"];

function changed(run: string, before: TrainSettings, now: TrainSettings): UsageError {
  const names = Object.keys({ ...before, ...now }) as (keyof TrainSettings)[];
  const differ = names.filter(
    (name) => !SUMMARIES.includes(name) && JSON.stringify(before[name]) !== JSON.stringify(now[name]),
  );
  const isOlder = before.pictures === undefined && now.pictures !== undefined;
  const why = isOlder
    ? "An earlier version started this run and did not record its pictures: train again"
    : "Has the dataset or the file of weights changed?";
  return new UsageError(
    `${run}: the run cannot be resumed: ${differ.join(", ") || "its settings"} ${differ.length === 1 ? "is" : "are"} not the same as at its start (${before.hash}, now ${now.hash}). ${why}`,
  );
}
