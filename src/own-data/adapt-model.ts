/** Adapts the model of a run to a new site (adapt-head.ts): collects its training pictures, and writes the new classifier to a file. */

import { type Judged, judge } from "../analysis/judged.js";
import { fitTemperature } from "../analysis/temperature.js";
import { evenlyChosen } from "../data/evenly-chosen.js";
import { cat } from "../engine/ops.generated.js";
import { scope } from "../engine/scope.js";
import { noGrad, type Tensor, tensor } from "../engine/tensor.js";
import { UsageError } from "../errors.js";
import type { CalibrationFacts } from "../model/about.js";
import { ModelDataset } from "../model/dataset-batches.js";
import { type EmbeddedDataset, embedDataset, matrixOf } from "../model/embed-dataset.js";
import type { Model } from "../model/model.js";
import { quantileAt } from "../model/unknown.js";
import { type Layer, Linear, ProbeAndNeighbours } from "../nn/index.js";
import type { LabelledFeatures } from "../probe/choose-strength.js";
import type { Plan } from "../settings/resolve.js";
import { resolve } from "../settings/resolve.js";
import { trainDomainsOf } from "../settings/settings.js";
import { ALL_PARTS, featuresOf } from "../training/exact-probe.js";
import { replaceCalibration, replaceHead } from "../training/probe-model.js";
import { readTrainSettings } from "../training/run-folder.js";
import { openFeatures } from "../training/samples.js";
import { adaptHead, MOST_TRAINING } from "./adapt-head.js";

export interface AdaptModelOptions {
  readonly say?: (text: string) => void;
  /** Copies the model and calls `replace` with the path of the copy. Not called if the old classifier is better. */
  readonly write: (replace: (path: string) => void) => void;
}

export interface AdaptedModelFacts {
  readonly pictures: number;
  /** The number of new pictures that the old classifier predicts correctly, and the adapted one in cross-validation. */
  readonly right: { readonly old: number; readonly adapted: number };
  readonly isAdapted: boolean;
  /** The number of training pictures that were used. */
  readonly training: number;
}

/** The strength of the exact probe if the run has none of its own. */
const USUAL_C = 0.01;
/** With fewer, cross-validation says nothing. */
const FEWEST = 10;
const QUANTILES = 101;

/** Throws an error for a model whose classifier is not one linear layer, with or without neighbours. */
export function checkAdaptable(model: Model): void {
  const { classifier } = model.network.modules;
  if (model.about.prediction.kind === "plain" && classifier instanceof Linear) return;
  throw new UsageError(
    `adapt: the classifier of ${model.path} is not one linear layer on the features, so it cannot be solved again`,
  );
}

/** Adapts the model of a run with embedded pictures, whose labels are classes of the model. */
export async function adaptModel(
  run: string,
  model: Model,
  fresh: EmbeddedDataset,
  { say, write }: AdaptModelOptions,
): Promise<AdaptedModelFacts> {
  if (fresh.pictures.length < FEWEST)
    throw new UsageError(
      `adapt: expected at least ${FEWEST} labelled pictures, got ${fresh.pictures.length}; nudge data pick chooses which to label`,
    );
  const settings = readTrainSettings(run);
  const plan = await resolve({ fixed: Object.keys(settings.fixed), ...settings.request, device: model.device });
  const { classifier } = model.network.modules as { classifier: Layer };
  const labels = fresh.pictures.map(({ label }) => label);
  const training = await trainingFeatures(plan, model, say);
  try {
    return noGrad(() =>
      scope(() => {
        const x = matrixOf(fresh);
        const old = classifier.forward(x).toArray() as number[][];
        const c = typeof settings.probeC === "number" ? settings.probeC : USUAL_C;
        const neighbours = classifier instanceof ProbeAndNeighbours;
        const { right, logits, head } = adaptHead(
          training,
          { x, labels },
          { classes: model.classes.length, c, neighbours, old },
        );
        if (head)
          write((path) => {
            replaceHead(path, head.fit, head.neighbours);
            replaceCalibration(path, calibrationOf(logits, labels));
          });
        return { pictures: labels.length, right, isAdapted: head !== null, training: training.labels.length };
      }),
    );
  } finally {
    training.x.dispose();
  }
}

/** The features of training pictures, evenly from all: cached ones for a frozen network, otherwise computed with the model. The caller disposes of them. */
async function trainingFeatures(
  plan: Plan,
  model: Model,
  say?: (text: string) => void,
): Promise<LabelledFeatures & { readonly x: Tensor }> {
  const names = trainDomainsOf(plan.settings);
  if (plan.settings.probe === "exact") {
    using samples = await openFeatures(plan, { say });
    return scope(() => {
      const domains = names.map((name) => featuresOf(samples!, name, ALL_PARTS, model.device));
      const all = domains.flatMap(({ labels }) => Array.from(labels));
      const kept = evenlyChosen([...all.keys()], MOST_TRAINING);
      return { x: cat(domains.map(({ x }) => x)).take(kept) as Tensor, labels: kept.map((i) => all[i]) };
    });
  }
  const limit = Math.ceil(MOST_TRAINING / names.length);
  const shown = new ModelDataset(model, plan.dataset, { domains: names, limit });
  say?.(`computing the features of ${shown.count} training pictures with the model`);
  const { features, width, pictures } = await embedDataset(model, shown);
  return {
    x: tensor(features, { shape: [pictures.length, width] }),
    labels: pictures.map(({ label }) => label),
  };
}

/** The temperature and the confidence on the new pictures, from cross-validation. */
function calibrationOf(logits: readonly (readonly number[])[], labels: readonly number[]): CalibrationFacts {
  const temperature = fitTemperature(logits, labels);
  const sure = logits
    .map((row, i): Judged => judge(row, { name: "", domain: "", label: labels[i] }, temperature))
    .filter(({ label, predicted }) => label === predicted)
    .map(({ confidence }) => confidence)
    .sort((a, b) => a - b);
  const quantiles = Array.from({ length: sure.length > 0 ? QUANTILES : 0 }, (_, i) =>
    quantileAt(sure, i / (QUANTILES - 1)),
  );
  return { temperature, count: logits.length, quantiles };
}
