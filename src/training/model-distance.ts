/**
 * Computes the distance score of a model (model/domain-distance.ts) and its temperature (analysis/temperature.ts) after
 * training, and writes them to its file. They depend only on the file and on the pictures, so a run that was killed in
 * between produces identical bytes.
 */

import { isRight, judge } from "../analysis/judged.js";
import { fitTemperature } from "../analysis/temperature.js";
import { evenlyChosen } from "../data/evenly-chosen.js";
import { type LoadedBatch, Loader, type LoaderOptions } from "../data/loader.js";
import type { Split, SplitName } from "../data/split.js";
import { cat, empty } from "../engine/ops.generated.js";
import { openSafetensors } from "../engine/safetensors.js";
import { Scope, scope } from "../engine/scope.js";
import { noGrad, type Tensor } from "../engine/tensor.js";
import { readWeights, writeWeights } from "../engine/weights.js";
import { type CalibrationFacts, METADATA_KEY } from "../model/about.js";
import { type DomainFeatures, fitDistance, storedDistance } from "../model/domain-distance.js";
import { loadModel, type Model } from "../model/index.js";
import { quantileAt } from "../model/unknown.js";
import type { Layer } from "../nn/index.js";
import { paddedRows } from "../nn/padded-rows.js";
import { ProbedBackbone } from "../probe/probed-backbone.js";

/**
 * The number of pictures for fitting the score, which is larger for many classes, and of pictures that it is compared
 * with.
 */
const MOST_FITTED = 1024;
const FITTED_A_CLASS = 8;
const MOST_COMPARED = 512;

/** The number of rows of all batches on a GPU, so that cuDNN plans the network's convolutions only once. */
const PADDED_ROWS = 128;

/**
 * Creates a loader for a few pictures of each training domain without augmentation, selected evenly. They are the same
 * at every start.
 */
export function plainLoader(options: LoaderOptions): Loader {
  const { split, trainDomains, dataset } = options;
  const fitted = Math.max(MOST_FITTED, FITTED_A_CLASS * dataset.classes.length);
  const few: Split = new Map(
    trainDomains.map((domain) => [
      domain,
      {
        in: evenlyChosen(split.get(domain)?.in ?? [], Math.ceil(fitted / trainDomains.length)),
        out: evenlyChosen(split.get(domain)?.out ?? [], Math.ceil(MOST_COMPARED / trainDomains.length)),
        uda: [],
      },
    ]),
  );
  return new Loader({ ...options, split: few, augmentation: null, classBalanced: false });
}

export interface AddDistanceOptions {
  readonly loader: Loader;
  readonly trainDomains: readonly string[];
  readonly device: string;
  /** Whether the loader's samples are already the network's features, as in an exact probe. */
  readonly areFeatures?: boolean;
  /** Called between batches, so that signals and timers are processed. */
  readonly pause?: () => Promise<void>;
}

/** Writes the distance score to a model file. With too few pictures there is none. */
export async function addDistance(path: string, options: AddDistanceOptions): Promise<void> {
  using model = await loadModel(path, { device: options.device });
  using kept = new Scope();
  const trained = await featuresOf(model, "in", options, kept);
  const heldBack = await featuresOf(model, "out", options, kept);
  scope(() => {
    const count = (parts: readonly DomainFeatures[]): number =>
      parts.reduce((sum, { labels }) => sum + labels.length, 0);
    if (count(heldBack) === 0) return;
    const statistics = fitDistance(trained, cat(heldBack.map(({ features }) => features)));
    using file = openSafetensors(path);
    const about = JSON.parse(file.metadata[METADATA_KEY]);
    about.calibration = calibrationOf(heldBack);
    if (statistics) about.distance = { fitted: count(trained), compared: count(heldBack) };
    const tensors = new Map([...readWeights(path), ...(statistics ? storedDistance(statistics) : [])]);
    writeWeights(path, tensors, { [METADATA_KEY]: JSON.stringify(about) });
  });
}

/** The number of stored quantiles of the model's confidence. */
const QUANTILES = 101;

/** Returns the temperature, and the model's confidence on correctly classified pictures after scaling with it. */
function calibrationOf(heldBack: readonly JudgedFeatures[]): CalibrationFacts | null {
  const rows = heldBack.flatMap(({ logits }) => logits);
  if (rows.length === 0) return null;
  const labels = heldBack.flatMap((domain) => domain.labels);
  const temperature = fitTemperature(rows, labels);
  const sure = rows
    .map((row, i) => judge(row, { name: "", domain: "", label: labels[i] }, temperature))
    .filter(isRight)
    .map(({ confidence }) => confidence)
    .sort((a, b) => a - b);
  const quantiles = Array.from({ length: sure.length > 0 ? QUANTILES : 0 }, (_, i) =>
    quantileAt(sure, i / (QUANTILES - 1)),
  );
  return { temperature, count: rows.length, quantiles };
}

/** The features of a domain's pictures, and their logits. */
interface JudgedFeatures extends DomainFeatures {
  readonly logits: readonly number[][];
}

/** Returns the features of one part of every training domain. */
async function featuresOf(
  model: Model,
  part: SplitName,
  { loader, trainDomains, device, areFeatures, pause }: AddDistanceOptions,
  kept: Scope,
): Promise<JudgedFeatures[]> {
  const pads = device !== "cpu" && !areFeatures && !model.dependsOnBatch;
  const domains: JudgedFeatures[] = [];
  for (const domain of trainDomains) {
    const parts: Tensor[] = [];
    const labels: number[] = [];
    const logits: number[][] = [];
    for await (const batch of loader.evaluate(domain, part, pads ? { batchSize: PADDED_ROWS } : {})) {
      using made: LoadedBatch = batch;
      parts.push(
        kept.run(() =>
          scope(() => {
            const { rows } = made.x;
            const x = pads ? paddedRows(made.x, PADDED_ROWS) : made.x;
            const forward = areFeatures ? classified(model, x) : forwardOf(model, x);
            logits.push(...((forward.logits?.narrow(0, 0, rows).toArray() ?? []) as number[][]));
            return forward.features.narrow(0, 0, rows).to({ device: "cpu" });
          }),
        ),
      );
      labels.push(...made.y.toNumbers());
      await pause?.();
    }
    const features = kept.run(() => (parts.length > 0 ? cat(parts) : empty([0, model.width])));
    domains.push({ features, labels, logits });
  }
  return domains;
}

/** Returns features unchanged, with their logits. */
function classified(model: Model, x: Tensor): { features: Tensor; logits: Tensor } {
  const { classifier } = model.network.modules;
  return noGrad(() => ({ features: x.clone(), logits: (classifier as Layer).forward(x) }));
}

/**
 * Runs one forward pass. The samples of a probe are the features of the frozen network, so only the linear map and the
 * classifier remain.
 */
function forwardOf(model: Model, x: Tensor): { features: Tensor; logits: Tensor | null } {
  const maps = Object.values(model.network.modules).flatMap((module) =>
    module instanceof ProbedBackbone ? module.map : [],
  );
  if (maps.length === 0) return model.forward(x);
  return noGrad(() => {
    const features = cat(
      maps.map((map) => map.forward(x)),
      1,
    );
    const isPlain = model.about.prediction.kind === "plain"; // there is no general way to compute other logits here
    return { features, logits: isPlain ? (model.network.modules.classifier as Layer).forward(features) : null };
  });
}
