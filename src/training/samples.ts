/**
 * The samples of a run: its pictures or arrays or, for a probe, the features of its pictures. A probe is an ordinary
 * run on a dataset of features with a linear map as its backbone.
 */

import { predictsByBatch } from "../algorithms/algorithm.js";
import type { Backbone } from "../backbones/index.js";
import { usesChannelsLast } from "../backbones/layout.js";
import type { Dataset } from "../data/dataset.js";
import type { Scaling } from "../data/framing.js";
import { type LoaderOptions, REFERENCE_BATCH } from "../data/loader.js";
import { openPictures, type PictureStore, type PictureStoreOptions } from "../data/picture-store.js";
import { countOf } from "../data/show-name.js";
import type { Split } from "../data/split.js";
import { StoppedError } from "../errors.js";
import { type ExtractOptions, extractFeatures } from "../probe/extract-features.js";
import { featureDataset, withoutLost } from "../probe/feature-dataset.js";
import { FeaturesBackbone } from "../probe/features-backbone.js";
import { identityMap } from "../probe/probed-backbone.js";
import { atEvaluation, framingOf, scalingOf } from "../settings/preprocessing.js";
import type { Plan } from "../settings/resolve.js";
import { coloursOf, evaluationShape, trainDomainsOf } from "../settings/settings.js";
import type { KeptPictures } from "./kept-pictures.js";
import { bodyOf } from "./make-learner.js";

export interface Samples extends Disposable {
  readonly dataset: Dataset;
  readonly split: Split;
  /** The store from which pictures are read. */
  readonly pictures?: PictureStore;
  /** Creates the backbone to train, if it is not that of the settings. */
  readonly makeBackbone?: () => Backbone;
  /** Pictures that were skipped from the start, with the reasons. */
  readonly lost: ReadonlyMap<string, string>;
}

/** Returns the loader options for a run's samples. */
export function loaderOptions({ settings, algorithm }: Plan, { dataset, split, pictures }: Samples): LoaderOptions {
  const { hparams, seed, augmentValidation, evaluationSize, device, steps } = settings;
  return {
    ...{ dataset, split, pictures, seed, augmentValidation, evaluationSize, device, steps },
    trainDomains: trainDomainsOf(settings),
    batchSize: hparams.batchSize as number,
    classBalanced: hparams.classBalanced as boolean,
    augmentation: hparams.dataAugmentation ? undefined : null,
    channelsLast: usesChannelsLast(settings),
    evaluationBatch: predictsByBatch(algorithm, hparams) ? REFERENCE_BATCH : undefined,
    colours: coloursOf(settings),
    framing: framingOf(settings),
  };
}

/** Opens the samples of a run. Returns null if it was stopped. */
export async function openSamples(
  plan: Plan,
  options: ExtractOptions & { readonly kept?: KeptPictures } = {},
): Promise<Samples | null> {
  const { settings, dataset, split } = plan;
  if (settings.probe) return openFeatures(plan, options);
  const rest = { dataset, split, lost: new Map<string, string>() };
  if (dataset.kind === "arrays") {
    options.kept?.keepArrays(dataset);
    return { ...rest, [Symbol.dispose]() {} };
  }
  const cache = settings.cache === "false" ? false : (settings.cache ?? true);
  const stopped = (error: unknown): null => {
    if (!(error instanceof StoppedError)) throw error;
    options.say?.(error.message);
    return null;
  };
  const { kept } = options;
  const how: PictureStoreOptions = {
    cache,
    device: settings.device,
    ...scalingOf(settings),
    ...progressOptions(options, scalingOf(settings)),
  };
  const pictures = await (kept ? kept.open(dataset, how) : openPictures(dataset, how)).catch(stopped);
  return pictures && { ...rest, pictures, [Symbol.dispose]: () => pictures[Symbol.dispose]() };
}

/** Reports that a cache of pictures has to be built first, which takes a minute for thousands of pictures. */
function progressOptions(
  { say, progress, shouldStop }: ExtractOptions,
  { shortSide, filter }: Scaling,
): PictureStoreOptions {
  const how = `short side of at most ${shortSide} pixels${filter ? `, ${filter}` : ""}`;
  return {
    onPlan: ({ folder, missing }) => {
      if (missing > 0) say?.(`decoding ${countOf(missing, "picture")} once (${how}), into ${folder}`);
    },
    onProgress: ({ done, total }) => progress?.(`decoding: ${done} of ${total}`),
    shouldStop,
  };
}

/** Opens features instead of pictures, computed at the evaluation size. */
export async function openFeatures(plan: Plan, options: ExtractOptions): Promise<Samples | null> {
  if (plan.dataset.kind !== "pictures") throw new TypeError(`features of ${plan.dataset.id}`); // resolving the settings has already rejected it
  const inputShape = evaluationShape(plan.settings);
  const dataset = { ...plan.dataset, inputShape };
  const settings = atEvaluation(plan.settings);
  using body = bodyOf(plan).eval().to({ device: settings.device, memoryFormat: "channels_last" });
  const { width } = body;
  const store = await extractFeatures({ dataset, settings, width, forward: (x) => body.forward(x) }, options);
  if (store === null) return null;
  return {
    dataset: featureDataset(dataset, store, width),
    ...withoutLost(plan.split, dataset, store),
    makeBackbone: () => (settings.probe === "exact" ? new FeaturesBackbone(width) : identityMap(width)),
    [Symbol.dispose]: () => store[Symbol.dispose](),
  };
}
