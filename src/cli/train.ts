/**
 * `nudge train`: one run, or one that goes on. Every option stands for a setting (`--eval-every 100` is `evaluateEvery=100`), and
 * hyperparameters are given as `key=value`. Settings come from defaults, then `--config`, then the command line.
 */

import { Command, Option } from "commander";
import { UsageError } from "../errors.js";
import type { RecipeName } from "../own-data/recipe-plan.js";
import type { Request } from "../settings/keys.js";
import { readConfig, readPairs, requestOver } from "../settings/read-request.js";
import type { TrainSettings } from "../settings/settings.js";
import type { Reporter } from "../training/reporter.js";
import { addKeyFlags, keysIn } from "./key-flags.js";
import { withWeights } from "./offer-weights.js";
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
  json?: true;
  [option: string]: unknown;
}

/** Settings that have flags, in the order of the help. */
const DATA = ["data", "root", "testDomains"] as const;
const METHOD = ["probe", "algorithm", "regularizers", "averaging", "backbone", "weights", "pretrained"] as const;
const LENGTH = ["steps", "evaluateEvery"] as const;
const REST = ["seed", "trialSeed", "hparamsSeed", "device", "precision", "threads"] as const;
const FLAGS = [...DATA, ...METHOD, ...LENGTH, ...REST];

/** What a resumed run may be told: where its files are now, and nothing that changes numbers. */
const MAY_MOVE = ["data", "root", "cache", "weights", "device"];

const EXAMPLES = `
Examples:
Pictures of your own, in domain/class/picture (a domain is what changes: camera, clinic, style) or
in class/picture:
  nudge train --data ./pictures                          offers to download trained weights
  nudge train --data ./pictures --probe                  a linear classifier on frozen features
  nudge train --data ./pictures --test-domain clinic-3   one run, one domain kept for testing
  nudge train --data ./pictures --no-leave-one-out       the model, no estimate for new domains

Benchmarks, by their protocol:
  nudge train --data pacs --root data --test-domain sketch --algorithm SWAD-NU --trial-seed 1
  nudge train --data vlcs --root data --test-domain LabelMe --algorithm coral --hparams-seed 7
  nudge train --data pacs --root data --test-domain sketch --probe --backbone resnet50
  nudge train --data pacs --root data --test-domain sketch --probe sgd --algorithm CORAL-NU
  nudge train --data shapes --test-domain outlined --algorithm ERM-NU nuclear-norm.weight=0.03

Steps of another kind (nudge list optimizers, nudge list schedules), and which learning rate:
  nudge train --data ./pictures optimizer=adamw schedule=cosine warmupSteps=50 clipNorm=1 patience=5
  nudge train --data ./pictures --find-lr

Go on with a run, or make it again from its settings:
  nudge train --resume runs/9f2c…
  nudge train --config runs/9f2c…/settings.json --seed 1

Trained weights are looked for in --weights, then $NUDGE_WEIGHTS (a file, or a folder of them), then
~/.cache/nudge/weights. Where they are missing, a terminal is asked whether to download them; in a
script, --yes or NUDGE_DOWNLOAD=1 downloads them, and nudge weights get does it beforehand.`;

export function trainCommand(): Command {
  const command = new Command("train")
    .description(
      "Trains a classifier that holds up on domains it never saw, and writes a run folder: the model, a report, settings, records, checkpoints, figures. For pictures of your own it needs no more than their folder; a benchmark is trained by its protocol. A run that was stopped or killed goes on with --resume, to the same bytes on the CPU.",
    )
    .argument("[key=value...]", "hyperparameters and other settings: lr=1e-4 nuclear-norm.weight=0.03 data.size=32");
  addKeyFlags(command, DATA)
    .option(
      "--leave-one-out",
      "train on all domains, and once more with each held out; the default for pictures of your own and with --probe",
    )
    .addOption(new Option("--no-leave-one-out", "train on all domains, and no more").default(undefined));
  command
    .addOption(
      new Option(
        "--recipe <name>",
        "for pictures of your own: auto (the default) chooses between the exact probe and fine-tuned networks by domains that are held out; probe or finetune for one of them",
      ).choices(["auto", "probe", "finetune"]),
    )
    .option("--budget <time>", "how long all of it may take, such as 10min or 1h; 20min on a CPU by default");
  addKeyFlags(addKeyFlags(command, METHOD), LENGTH).option(
    "--batch-size <n>",
    "pictures of each training domain in a batch",
  );
  return addKeyFlags(command, REST)
    .option("--config <file>", "settings from a YAML file, or from another run's settings.json")
    .option("--out <dir>", "the folder that run folders are made in", "runs")
    .option("--name <name>", "a name for the run: a link beside it, as latest always is to the last run")
    .option("--resume <run>", "go on with the run in this folder")
    .option("--find-lr", "train nothing: test learning rates from small to large, and draw the losses")
    .option("--yes", "download trained weights that are missing, without a question")
    .option("--quiet", "print nothing on the way")
    .option("--json", "print the outcome as JSON")
    .addHelpText("after", EXAMPLES)
    .action((pairs: string[], flags: TrainFlags) => run(pairs, flags));
}

async function run(pairs: readonly string[], flags: TrainFlags): Promise<void> {
  const { batchSize } = flags;
  const asked: Request = {
    ...keysIn(flags, FLAGS),
    ...(flags.probe === true && { probe: "exact" }),
    ...(batchSize !== undefined && { batchSize }),
    ...readPairs(pairs),
  };
  if (flags.resume === undefined) checkFolder(flags.out);
  if (flags.name !== undefined) (await import("./run-path.js")).checkName(flags.out, flags.name);
  const [{ checkDevice, defaultDevice }, { streamReporter, quietReporter }] = await Promise.all([
    import("../engine/device.js"),
    import("../training/reporter.js"),
  ]);
  const reporter = flags.quiet ? quietReporter : streamReporter(process.stderr);
  const device = (asked.device as string | undefined) ?? defaultDevice();
  checkDevice(device); // before anything is said or written
  using stop = onStopSignals((signal) => reporter.line(`${signal}: finishing the step; once more to stop at once`));
  // Awaited here: `stop` listens until this function ends.
  if (flags.resume !== undefined) return await resume(flags.resume, asked, { ...flags, device, reporter, stop });
  const request = requestOver(flags.config ? readConfig(flags.config) : {}, asked);
  if (await byRecipe(request, flags)) {
    const [{ trainRecipe }, { readBudget }] = await Promise.all([
      import("./train-recipe.js"),
      import("../own-data/recipe-plan.js"),
    ]);
    const budget = flags.budget === undefined ? undefined : readBudget(flags.budget);
    const { recipe = "auto", leaveOneOut, out, name, json } = flags;
    const options = { recipe, budget, leaveOneOut, device, out, name, json, reporter, stop };
    return await withWeights(() => trainRecipe(request, options), flags.yes);
  }
  const [{ plansFor }, { trainPlans }] = await Promise.all([
    import("../own-data/plans.js"),
    import("./train-plans.js"),
  ]);
  const plans = await withWeights(() => plansFor(request, { leaveOneOut: flags.leaveOneOut, device }), flags.yes);
  if (flags.findLr) return await (await import("./find-lr.js")).findLr(plans.main, { ...flags, reporter, stop });
  await trainPlans(plans, { ...flags, reporter, stop });
}

/** Whether a recipe is chosen for the user: for pictures of one's own where no method is named, or where it is asked for. */
async function byRecipe(request: Request, { recipe, budget }: TrainFlags): Promise<boolean> {
  const [{ datasetFor }, { SettingsMemo }, { isOwnDataset }, { leavesRecipeOpen }] = await Promise.all([
    import("../settings/resolve.js"),
    import("../settings/memo.js"),
    import("../records/own-pictures.js"),
    import("../own-data/recipe-plan.js"),
  ]);
  const open = leavesRecipeOpen(request);
  if ((recipe !== undefined || budget !== undefined) && !open)
    throw new UsageError(
      "--recipe and --budget choose how to train; do without them, or without a method of your own (--algorithm, --probe, …)",
    );
  if (!open) return false;
  const dataset = await datasetFor(request, new SettingsMemo());
  return dataset.kind === "pictures" && (recipe !== undefined || budget !== undefined || isOwnDataset(dataset.id));
}

/** Goes on with a run as it was begun. */
async function resume(
  path: string,
  asked: Request,
  { config, device, json, reporter, stop }: TrainFlags & { device: string; reporter: Reporter; stop: StopSignals },
): Promise<void> {
  const [{ planAgain }, { resolve }, { readTrainSettings }, { trainPlans }] = await Promise.all([
    import("../own-data/plans.js"),
    import("../settings/resolve.js"),
    import("../training/run-folder.js"),
    import("./train-plans.js"),
  ]);
  const before = readTrainSettings(path);
  if (before.plugins) (await import("./plugins.js")).requirePlugins(before.plugins, path);
  const request = requestAgain(before, asked, config);
  const main = await resolve({ ...request, device: request.device ?? device });
  if (main.settings.hash !== before.hash) throw changed(path, before, main.settings);
  await trainPlans({ main: await planAgain(main), heldOut: [], words: [], own: false }, { path, json, reporter, stop });
}

function requestAgain(before: TrainSettings, asked: Request, config: string | undefined): Request {
  const other = Object.keys(asked).find((name) => !MAY_MOVE.includes(name));
  if (other !== undefined || config !== undefined)
    throw new UsageError(
      `--resume goes on with the run's own settings, and takes no ${other ?? "--config"}; it may be told ${MAY_MOVE.join(", ")}`,
    );
  return { fixed: Object.keys(before.fixed), ...before.request, ...asked };
}

function changed(run: string, before: TrainSettings, now: TrainSettings): UsageError {
  const names = Object.keys({ ...before, ...now }) as (keyof TrainSettings)[];
  const differ = names.filter(
    (name) => name !== "hash" && name !== "fixed" && JSON.stringify(before[name]) !== JSON.stringify(now[name]),
  );
  const isOlder = before.pictures === undefined && now.pictures !== undefined;
  const why = isOlder
    ? "An earlier version began it, and did not write down which pictures it is of: train again"
    : "Has the dataset or the file of weights changed?";
  return new UsageError(
    `${run}: the run cannot go on: ${differ.join(", ") || "its settings"} ${differ.length === 1 ? "is" : "are"} not what it was begun with (${before.hash}, now ${now.hash}). ${why}`,
  );
}
