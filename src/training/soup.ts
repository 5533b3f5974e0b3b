/**
 * Soups: one model from the weights of several runs (Wortsman et al., Model soups, ICML 2022,
 * https://arxiv.org/abs/2203.05482). `uniform` is the mean of all runs. `greedy` starts with the best run by validation
 * and adds each next run if that improves the mean on the validation pictures. Soups only make sense for runs whose
 * weights are close, so they must have the same initial weights, as in DiWA (Ramé et al., NeurIPS 2022,
 * https://arxiv.org/abs/2205.09739). They must also hold out the same pictures: a run of another trial was trained on
 * the pictures that are used to select here.
 */

import { dirname, join } from "node:path";
import { Loader } from "../data/loader.js";
import { setThreads } from "../engine/device.js";
import { scope } from "../engine/scope.js";
import { noGrad, type Tensor } from "../engine/tensor.js";
import { readWeights, writeWeights } from "../engine/weights.js";
import { DataError, UsageError } from "../errors.js";
import { makeFolder } from "../files/make-folder.js";
import { onceEach } from "../files/once-each.js";
import { METADATA_KEY, type ModelAbout } from "../model/about.js";
import { DISTANCE_PREFIX } from "../model/domain-distance.js";
import { loadModel, modelFile, readModelAbout } from "../model/load-model.js";
import { ACCURACY, type RunRecord } from "../records/record.js";
import { resolve } from "../settings/resolve.js";
import { type TrainSettings, trainDomainsOf } from "../settings/settings.js";
import { evaluate, validationMean } from "./evaluate.js";
import { addDistance, plainLoader } from "./model-distance.js";
import { readTrainSettings } from "./run-folder.js";
import { loaderOptions, openSamples } from "./samples.js";

export type SoupKind = "uniform" | "greedy";

export interface SoupOptions {
  readonly kind: SoupKind;
  /** The path of the model file. */
  readonly out: string;
  readonly device?: string;
  readonly say?: (text: string) => void;
}

/** The accuracy of a model on the validation pictures and on the held-out domains. */
export interface Judged {
  /** The run's folder, or `soup`. */
  readonly name: string;
  /** The mean over training domains of the accuracy on their validation pictures. */
  readonly validation: number;
  /** The mean over held-out domains of the accuracy on their `in` splits, or null if there are none. */
  readonly heldOut: number | null;
}

export interface Soup {
  readonly kind: SoupKind;
  readonly runs: readonly (Judged & { readonly taken: boolean })[];
  readonly soup: Judged;
  /** Notes for the user. */
  readonly notes: readonly string[];
}

/** A run for a soup. */
export interface Ingredient {
  /** The run's folder, and its model file. */
  readonly path: string;
  readonly file: string;
  readonly about: ModelAbout;
  readonly settings: TrainSettings;
}

/** Returns a run as an ingredient, with its model for use or another file. */
export function ingredientOf(path: string, file = modelFile(path)): Ingredient {
  return { path, file, settings: readTrainSettings(path), about: readModelAbout(file) };
}

/** Creates a soup of runs and writes its model. */
export async function makeSoup(
  paths: readonly string[],
  { kind, out, device = "cpu", say }: SoupOptions,
): Promise<Soup> {
  const runs = onceEach(paths);
  if (runs.length < 2) throw new UsageError(`a soup needs at least two runs, got ${runs.length}`);
  const ingredients = runs.map((path) => ingredientOf(path));
  const notes = checkCompatible(ingredients);
  const [first] = ingredients;
  const plan = await resolve({ fixed: Object.keys(first.settings.fixed), ...first.settings.request, device });
  setThreads(plan.settings.threads);
  using samples = await openSamples(plan, { say });
  if (samples === null) throw new UsageError("the soup was stopped before its first evaluation");
  const reading = loaderOptions(plan, samples);
  using loader = new Loader({ ...reading, augmentValidation: false });
  using model = await loadModel(first.path, { device });
  const training = trainDomainsOf(plan.settings);
  const { testDomains } = plan.settings;

  const judge = async (name: string, weights: () => Map<string, Tensor>): Promise<Judged> => {
    scope(() => model.network.load(weights()));
    const rows = await evaluate({
      ...{ loader, split: samples.split, step: 0, model: name },
      predict: (x) => model.forward(x).logits,
      isWanted: (domain, part) => (testDomains.includes(domain) ? part === "in" : part === "out"),
    });
    const judged = {
      name,
      validation: validationMean(rows, ACCURACY, training),
      heldOut: heldOutMean(rows, testDomains),
    };
    say?.(`${name}: ${percent(judged.validation)} on validation pictures`);
    return judged;
  };

  const judged: Judged[] = [];
  for (const { path } of ingredients) judged.push(await judge(path, () => weightsOf(path)));
  const taken =
    kind === "uniform"
      ? [...runs]
      : await selectGreedily(
          judged.map(({ name, validation }) => [name, validation]),
          async (names) => (await judge(`with ${names.at(-1)}`, () => meanOf(names))).validation,
        );
  const soup = await judge("soup", () => meanOf(taken));
  writeSoup(
    out,
    first.about,
    ingredients.filter(({ path }) => taken.includes(path)),
    kind,
  );
  using plain = plainLoader(reading);
  await addDistance(out, {
    loader: plain,
    ...{ trainDomains: training, device, areFeatures: plan.settings.probe === "exact", pause: async () => {} },
  });
  return { kind, runs: judged.map((each) => ({ ...each, taken: taken.includes(each.name) })), soup, notes };
}

/**
 * Selects runs for a greedy soup by their scores: the best run, then each next one that increases the score of the
 * mean.
 */
export async function selectGreedily(
  runs: readonly (readonly [name: string, score: number])[],
  scoreOf: (names: readonly string[]) => Promise<number>,
): Promise<string[]> {
  const [[first, score], ...others] = runs.toSorted(([, a], [, b]) => b - a);
  let [taken, best] = [[first], score];
  for (const [name] of others) {
    const withIt = await scoreOf([...taken, name]);
    if (withIt > best) [taken, best] = [[...taken, name], withIt];
  }
  return taken;
}

const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;

/** Returns the mean accuracy on the held-out domains, or null if there are none. */
function heldOutMean(rows: readonly RunRecord[], domains: readonly string[]): number | null {
  const own = rows.filter(({ metric, domain }) => metric === ACCURACY && domains.includes(domain ?? ""));
  return own.length === 0 ? null : own.reduce((sum, { value }) => sum + value, 0) / own.length;
}

/** Reads the tensors of a model that predictions need, from its file or its run. All of them must be finite. */
export function weightsOf(path: string): Map<string, Tensor> {
  const file = modelFile(path);
  const weights = [...readWeights(file)].filter(([name]) => !name.startsWith(DISTANCE_PREFIX));
  const wrong = scope(() =>
    weights.find(([, tensor]) => tensor.dtype.includes("float") && tensor.isfinite().sum().item() !== tensor.numel),
  );
  if (wrong)
    throw new DataError(
      `${file}: ${wrong[0]} has values that are not finite, so it cannot be averaged. Remove this run`,
    );
  return new Map(weights);
}

/** Returns the mean of models' weights, summed in float64. Counters are those of the first model. */
export function meanOf(paths: readonly string[]): Map<string, Tensor> {
  return scope(() =>
    noGrad(() => {
      const all = paths.map(weightsOf);
      return new Map(
        Array.from(all[0], ([name, first]): [string, Tensor] => {
          if (!first.dtype.includes("float")) return [name, first];
          const sum = all.map((own) => own.get(name)!.toDType("float64")).reduce((total, each) => total.add(each));
          return [name, sum.div(all.length).toDType(first.dtype)];
        }),
      );
    }),
  );
}

/** Writes the mean of some runs as a model. */
export function writeSoup(out: string, first: ModelAbout, taken: readonly Ingredient[], kind: SoupKind): void {
  const hashes = taken.map(({ settings }) => settings.hash);
  const about: ModelAbout = {
    ...first,
    model: "soup",
    distance: null,
    calibration: null,
    settings: { ...first.settings, soup: { kind, runs: hashes } },
  };
  makeFolder(dirname(out)); // not earlier, so that runs that cannot be averaged leave nothing behind
  scope(() => writeWeights(out, meanOf(taken.map(({ file }) => file)), { [METADATA_KEY]: JSON.stringify(about) }));
}

/** Throws an error if the weights of runs cannot be averaged. Returns notes about runs that can. */
export function checkCompatible(all: readonly Ingredient[]): string[] {
  const [first] = all;
  const refuse = (other: Ingredient, what: string, one: unknown, two: unknown, why = ""): never => {
    throw new UsageError(
      `a soup of ${first.path} and ${other.path}: they differ in ${what} (${show(one)} and ${show(two)})${why}`,
    );
  };
  const parts: [string, (one: Ingredient) => unknown, string?][] = [
    ["their classes", ({ about }) => about.classes],
    ["the backbone", ({ about }) => about.backbone],
    ["how the backbone is built", ({ about: { backboneOptions } }) => ({ ...backboneOptions, dropout: 0 })],
    ["how they predict", ({ about }) => about.prediction],
    [
      "the weights they started from",
      ({ about }) => about.startingWeights?.hash ?? null,
      ": averaging needs a common start",
    ],
    ["the dataset", ({ settings }) => settings.dataset],
    ["the domain held out", ({ settings }) => settings.testDomains],
    [
      "the split",
      ({ settings }) => settings.splitHash,
      ": one was trained on validation pictures of the other. Use runs of the same trial",
    ],
    [
      "whether validation pictures were used for training (trainOnAll)",
      ({ about }) => about.settings.trainOnAll === true,
      ": their validation accuracies cannot be compared",
    ],
  ];
  for (const other of all.slice(1))
    for (const [what, of, why] of parts)
      if (JSON.stringify(of(first)) !== JSON.stringify(of(other))) refuse(other, what, of(first), of(other), why);
  const seeds = new Set(all.map(({ settings }) => settings.seed));
  if (seeds.size > 1 && first.about.startingWeights === null)
    throw new UsageError(
      `a soup of runs with the seeds ${[...seeds].join(", ")}: they started from different random weights, but averaging needs a common start. Use runs of one seed, or start from pretrained weights`,
    );
  const notes = [];
  if (seeds.size > 1 && first.settings.headFirst !== true)
    notes.push("the classifiers started from random values of different seeds; use headFirst=true for a common start");
  if (first.about.settings.trainOnAll === true)
    notes.push("the runs were trained on the validation pictures too, so their validation accuracy says nothing");
  if (first.about.backboneOptions.batchNorm === "trained")
    notes.push("running statistics of batch norms are averaged like weights");
  return notes;
}

function show(value: unknown): string {
  const text = JSON.stringify(value);
  return text.length > 60 ? `${text.slice(0, 57)}…` : text;
}

/** Returns the path of a soup's model in a folder. */
export const soupFile = (folder: string): string => join(folder, "model.safetensors");
