/** The network of a run and the weights it starts from: as given, else the reference's for such samples. */

import { trainedBackbones } from "../backbones/backbone-of-weights.js";
import { findWeights } from "../backbones/find-weights.js";
import { backboneNamed } from "../backbones/index.js";
import type { Dataset } from "../data/dataset.js";
import { UsageError } from "../errors.js";
import type { GivenKeys } from "./keys.js";
import type { SettingsMemo } from "./memo.js";

export interface StartingWeights {
  readonly backbone: string;
  /** Null where it starts from random weights. */
  readonly file: string | null;
}

/** The backbone of the reference for such samples, and the weights it starts from. */
export function startingWeights(dataset: Dataset, given: GivenKeys, memo: SettingsMemo): StartingWeights {
  const backbone = given.backbone ?? usualBackbone(dataset);
  const { weights } = backboneNamed(backbone);
  const pretrained = given.pretrained ?? (given.weights !== undefined || weights !== undefined);
  if (!pretrained && given.weights !== undefined)
    throw new UsageError(`weights ${given.weights}: pretrained=false says that the backbone starts from none`);
  if (!pretrained) return { backbone, file: null };
  const file = findWeights(backbone, given.weights);
  // A plug-in's backbone may start from another's weights, and says itself what it misses.
  const known = trainedBackbones.some((id) => id === backbone);
  const found = known ? memo.backboneOfWeights(file) : undefined;
  if (found !== undefined && found !== backbone)
    throw new UsageError(
      `the weights ${file} are of ${found}, and the backbone is ${backbone}: take --backbone ${found}, or name weights of ${backbone} with --weights FILE`,
    );
  return { backbone, file };
}

/** The reference's choice. */
function usualBackbone({ id, inputShape }: Dataset): string {
  if (id === "shapes") return "small-cnn"; // made to be trained in seconds; the rest is the reference's choice
  if (inputShape.length === 1) return "mlp";
  if (inputShape[1] === 28) return "mnist-cnn";
  return inputShape[1] === 32 ? "wide-resnet-16-2" : "resnet50";
}
