/**
 * Soups and ensembles as rows of a report. Runs of one trial are combined once for the trained weights (each run's best
 * model by validation) and once for each average that the runs stored. An ensemble of moving averages is EoA (Arpit et
 * al., NeurIPS 2022, https://arxiv.org/abs/2110.10832). The evaluation covers the splits that model selection needs, as
 * in the runs.
 */

import { existsSync } from "node:fs";
import { basename, join } from "node:path";
import { Loader } from "../data/loader.js";
import type { SplitName } from "../data/split.js";
import { setThreads } from "../engine/device.js";
import { scope } from "../engine/scope.js";
import type { Tensor } from "../engine/tensor.js";
import { DataError, StoppedError } from "../errors.js";
import { Ensemble } from "../model/ensemble.js";
import { loadModel, type Model } from "../model/index.js";
import { ACCURACY, CURRENT, type RunRecord } from "../records/record.js";
import type { SettingsMemo } from "../settings/memo.js";
import { resolve } from "../settings/resolve.js";
import { type TrainSettings, trainDomainsOf } from "../settings/settings.js";
import { evaluate, validationMean } from "./evaluate.js";
import { addDistance, plainLoader } from "./model-distance.js";
import { pauseUnless } from "./pause.js";
import { loaderOptions, openSamples } from "./samples.js";
import {
  checkCompatible,
  type Ingredient,
  ingredientOf,
  meanOf,
  selectGreedily,
  weightsOf,
  writeSoup,
} from "./soup.js";

export interface CombineOptions {
  readonly kind: "soup" | "uniform-soup" | "ensemble";
  readonly device: string;
  readonly threads: number;
  readonly memo?: SettingsMemo;
  /** The path for the model of a soup. */
  readonly out: string;
  readonly shouldStop?: () => boolean;
  readonly say?: (text: string) => void;
}

export interface Combined {
  /** The settings of the first run. */
  readonly settings: TrainSettings;
  readonly rows: readonly RunRecord[];
  /** The ids of the combined runs for each model. */
  readonly taken: Readonly<Record<string, readonly string[]>>;
}

/**
 * Combines runs, given by their folders. The rows have the kind as their model name, followed by the id of the average
 * if there is one.
 */
export async function combineRuns(paths: readonly string[], options: CombineOptions): Promise<Combined> {
  const { kind, device, threads, memo, out, say, shouldStop = () => false } = options;
  const pause = pauseUnless(shouldStop);
  const first = ingredientOf(paths[0]);
  const plan = await resolve(
    { fixed: Object.keys(first.settings.fixed), ...first.settings.request, device, threads },
    memo,
  );
  setThreads(plan.settings.threads);
  using samples = await openSamples(plan, { say, shouldStop });
  if (samples === null) throw new StoppedError("asked to stop");
  const reading = loaderOptions(plan, samples);
  using loader = new Loader(reading);
  using choosing = new Loader({ ...reading, augmentValidation: false }); // as nudge soup chooses
  const { testDomains, steps, averaging } = plan.settings;
  const training = trainDomainsOf(plan.settings);
  const rows: RunRecord[] = [];
  const taken: Record<string, string[]> = {};
  const models = [CURRENT, ...averaging.map(({ id }) => id)];
  for (const model of models) {
    const name = model === CURRENT ? kind : `${kind}+${model}`;
    const ingredients = paths.map((path) => ingredientOf(path, fileOf(path, model, plan.settings)));
    const rowsOf = (
      predict: (x: Tensor) => Tensor,
      isWanted: (domain: string, part: SplitName) => boolean,
      from = loader,
    ) => evaluate({ loader: from, split: samples.split, step: steps - 1, model: name, predict, isWanted, pause });
    const ofSelection = (domain: string, part: SplitName): boolean =>
      part === "out" || (part === "in" && testDomains.includes(domain));
    if (kind === "ensemble") {
      using ensemble = await loadEnsemble(ingredients, device);
      rows.push(...(await rowsOf((x) => ensemble.forward(x).logits, ofSelection)));
      taken[name] = ingredients.map(({ settings }) => settings.hash);
      continue;
    }
    for (const note of checkCompatible(ingredients)) if (model === CURRENT) say?.(`note: ${note}`);
    using network = await loadModel(ingredients[0].file, { device });
    const predict = (x: Tensor): Tensor => network.forward(x).logits;
    const scoreOf = async (files: readonly string[]): Promise<number> => {
      scope(() => network.network.load(files.length === 1 ? weightsOf(files[0]) : meanOf(files)));
      const isWanted = (domain: string, part: SplitName): boolean => part === "out" && training.includes(domain);
      const own = await rowsOf(predict, isWanted, choosing);
      return validationMean(own, ACCURACY, training);
    };
    let files = ingredients.map(({ file }) => file);
    if (kind === "soup") {
      const scores: [string, number][] = [];
      for (const file of files) scores.push([file, await scoreOf([file])]);
      files = await selectGreedily(scores, scoreOf);
    }
    scope(() => network.network.load(meanOf(files)));
    rows.push(...(await rowsOf(predict, ofSelection)));
    const chosen = ingredients.filter(({ file }) => files.includes(file));
    taken[name] = chosen.map(({ settings }) => settings.hash);
    // As in a run, the model for use is that of the first average if there is one.
    if (model === (averaging[0]?.id ?? CURRENT)) {
      writeSoup(out, ingredients[0].about, chosen, kind === "soup" ? "greedy" : "uniform");
      using plain = plainLoader(reading);
      await addDistance(out, {
        loader: plain,
        ...{ trainDomains: training, device, areFeatures: plan.settings.probe === "exact", pause },
      });
    }
  }
  return { settings: first.settings, rows, taken };
}

async function loadEnsemble(ingredients: readonly Ingredient[], device: string): Promise<Ensemble> {
  const models: Model[] = [];
  try {
    for (const { file } of ingredients) models.push(await loadModel(file, { device }));
    return new Ensemble(models);
  } catch (error) {
    for (const model of models) model.dispose();
    throw error;
  }
}

/**
 * Returns the model file of a run. The model for use is the first average, if there is one, or the retrained model, which
 * has seen the validation pictures.
 */
function fileOf(path: string, model: string, { averaging, retrain }: TrainSettings): string {
  const place = averaging.findIndex(({ id }) => id === model);
  const name =
    place > 0
      ? `model-${model}.safetensors`
      : place === 0 || (averaging.length === 0 && !retrain)
        ? "model.safetensors"
        : "checkpoint/best.safetensors";
  const file = join(path, name);
  if (existsSync(file)) return file;
  throw new DataError(
    `run ${basename(path)} cannot be combined, because it has no ${name} (packs contain no weights). Remove its folder to execute it again`,
  );
}
