/**
 * The score of distance of a model (model/domain-distance.ts), made when training has ended and put into its file. It is a
 * function of the file and of the pictures alone, so a run that was killed on the way makes the same bytes.
 */

import { evenlyChosen } from "../data/evenly-chosen.js";
import { type Batch, Loader, type LoaderOptions } from "../data/loader.js";
import type { Split, SplitName } from "../data/split.js";
import { cat, empty } from "../engine/ops.generated.js";
import { openSafetensors } from "../engine/safetensors.js";
import { Scope, scope } from "../engine/scope.js";
import { noGrad, type Tensor } from "../engine/tensor.js";
import { readWeights, writeWeights } from "../engine/weights.js";
import { METADATA_KEY } from "../model/about.js";
import { type DomainFeatures, fitDistance, storedDistance } from "../model/domain-distance.js";
import { loadModel, type Model } from "../model/index.js";
import { ProbedBackbone } from "../probe/probed-backbone.js";

/** Pictures the score is made from, more where there are many classes, and pictures it is compared with. */
const MOST_FITTED = 1024;
const FITTED_A_CLASS = 8;
const MOST_COMPARED = 512;

/** A loader of a few pictures of each training domain as they are, evenly from their order: the same at every start. */
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
  /** Called between batches, so that signals and timers have their turn. */
  readonly pause?: () => Promise<void>;
}

/** Puts the score of distance into a model's file; a model with too few pictures is left without. */
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
    if (!statistics) return;
    using file = openSafetensors(path);
    const about = JSON.parse(file.metadata[METADATA_KEY]);
    about.distance = { fitted: count(trained), compared: count(heldBack) };
    const tensors = new Map([...readWeights(path), ...storedDistance(statistics)]);
    writeWeights(path, tensors, { [METADATA_KEY]: JSON.stringify(about) });
  });
}

/** The features of one part of every training domain. */
async function featuresOf(
  model: Model,
  part: SplitName,
  { loader, trainDomains, pause }: AddDistanceOptions,
  kept: Scope,
): Promise<DomainFeatures[]> {
  const domains: DomainFeatures[] = [];
  for (const domain of trainDomains) {
    const parts: Tensor[] = [];
    const labels: number[] = [];
    for await (const batch of loader.evaluate(domain, part)) {
      using made: Batch = batch;
      parts.push(kept.run(() => scope(() => featuresIn(model, made.x).to({ device: "cpu" }))));
      labels.push(...made.y.toNumbers());
      await pause?.();
    }
    const features = kept.run(() => (parts.length > 0 ? cat(parts) : empty([0, model.width])));
    domains.push({ features, labels });
  }
  return domains;
}

/** The features of samples; those of a probe come as the frozen network's features, on which only the map is missing. */
function featuresIn(model: Model, x: Tensor): Tensor {
  const maps = Object.values(model.network.modules).flatMap((module) =>
    module instanceof ProbedBackbone ? module.map : [],
  );
  if (maps.length === 0) return model.forward(x).features;
  return noGrad(() =>
    cat(
      maps.map((map) => map.forward(x)),
      1,
    ),
  );
}
