/**
 * How `nudge train --data` decodes the pictures of a dataset if nothing but the dataset is named, so that a cache of
 * decoded pictures can be built beforehand. It depends on the pretrained weights and on the sizes of the pictures.
 */

import { MissingWeights } from "../backbones/find-weights.js";
import { framingOf } from "../backbones/published-weights.js";
import type { PictureDataset } from "../data/dataset.js";
import { type Scaling, scalingFor } from "../data/framing.js";
import { type Request, readKeys } from "../declared-settings/keys.js";
import { isOwnDataset } from "../records/own-pictures.js";
import { SettingsMemo } from "../settings/memo.js";
import { preprocessingSettings, scalingOf } from "../settings/preprocessing.js";
import { type StartingWeights, startingWeights } from "../settings/starting-weights.js";
import { evaluationSizeFor, networkDefaults } from "./defaults.js";

/** The short side and the filter. `weights` are the initial weights, if they are named. */
export function defaultScaling(dataset: PictureDataset, weights?: string): Scaling {
  if (!isOwnDataset(dataset.id)) return scalingFor({}, dataset.inputShape[1]);
  const { start, request } = startOf(dataset, weights === undefined ? {} : { weights });
  const preprocessing = preprocessingSettings({}, start, { dataset, isOwn: true });
  const { size = dataset.inputShape[1] } = preprocessing;
  const evaluationSize = evaluationSizeFor(dataset, request);
  return scalingOf({ ...preprocessing, inputShape: [3, size, size], ...(evaluationSize && { evaluationSize }) });
}

/** The weights that a run starts from; if they are not on this machine, those that it would offer to download. */
function startOf(
  dataset: PictureDataset,
  asked: Request,
): { start: Pick<StartingWeights, "framing">; request: Request } {
  try {
    const request = { ...networkDefaults(asked, []), ...asked };
    return { start: startingWeights(dataset, readKeys(request), new SettingsMemo()), request };
  } catch (error) {
    if (!(error instanceof MissingWeights)) throw error;
    return { start: { framing: framingOf(error.weights) }, request: { backbone: error.weights.backbone } };
  }
}
