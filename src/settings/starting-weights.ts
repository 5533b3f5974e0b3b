/** The network of a run and its initial weights: as given, else DomainBed's choice for such samples. */

import type { NetworkVariant } from "../backbones/backbone.js";
import { trainedBackbones } from "../backbones/backbone-of-weights.js";
import { findWeights } from "../backbones/find-weights.js";
import { backboneNamed } from "../backbones/index.js";
import { type PublishedFraming, publishedWeightsNamed, usualFraming } from "../backbones/published-weights.js";
import type { WeightsFacts } from "../backbones/weights-facts.js";
import type { Dataset } from "../data/dataset.js";
import type { Normalization } from "../data/normalization.js";
import type { GivenKeys } from "../declared-settings/keys.js";
import { UsageError } from "../errors.js";
import type { SettingsMemo } from "./memo.js";

export interface StartingWeights {
  readonly backbone: string;
  /** Null if it starts from random weights. */
  readonly file: string | null;
  /** The normalization of the pictures. */
  readonly normalization: Normalization;
  /** How its publisher prepares pictures; absent if it starts from random weights. */
  readonly framing?: PublishedFraming;
  /** The choices of the publisher that differ from the defaults of the backbone. */
  readonly variant?: NetworkVariant;
}

/** The backbone and its initial weights: as given, otherwise DomainBed's choice for such samples. */
export function startingWeights(dataset: Dataset, given: GivenKeys, memo: SettingsMemo): StartingWeights {
  const backbone = given.backbone ?? usualBackbone(dataset);
  const { weights } = backboneNamed(backbone);
  const pretrained = given.pretrained ?? (given.weights !== undefined || weights !== undefined);
  if (!pretrained && given.weights !== undefined)
    throw new UsageError(`weights ${given.weights}: pretrained=false excludes initial weights; remove one of the two`);
  const gelu = given.activation === undefined ? undefined : { gelu: given.activation };
  if (!pretrained)
    return { backbone, file: null, normalization: given.normalization ?? "imagenet", ...(gelu && { variant: gelu }) };
  const file = findWeights(backbone, given.weights);
  const facts = memo.weightsFacts(file);
  if (facts) checkBackbone(backbone, file, facts);
  if (facts?.geluIsOpen && !gelu)
    throw new UsageError(
      `the weights ${file} contain ${facts.description}, but not which GELU the network uses: ` +
        "set activation=quick for those of OpenAI, MetaCLIP and DFN, or activation=exact for those of LAION and DataComp",
    );
  const variant = facts?.variant || gelu ? { ...facts?.variant, ...gelu } : undefined;
  const normalization = given.normalization ?? facts?.normalization ?? "imagenet";
  const framing = facts?.framing ?? usualFraming;
  return { backbone, file, normalization, framing, ...(variant && { variant }) };
}

/** Rejects weights of another network, if both networks can be recognized by their tensors. */
function checkBackbone(backbone: string, file: string, { backbone: found, description }: WeightsFacts): void {
  // A backbone of a plug-in may start from the weights of another one, and reports missing tensors itself.
  if (found === backbone || publishedWeightsNamed(backbone) === undefined) return;
  // The loader reports what such a file lacks.
  if (found === undefined && trainedBackbones.some((id) => id === backbone)) return;
  const way = found === undefined ? "" : `use --backbone ${found}, or `;
  const named = file === process.env.NUDGE_WEIGHTS ? `${file} ($NUDGE_WEIGHTS)` : file;
  throw new UsageError(
    `the weights in ${named} belong to ${found ?? description}, but the backbone is ${backbone}; ${way}choose weights of ${backbone} with --weights FILE`,
  );
}

/** The default backbone for a dataset. */
function usualBackbone({ id, inputShape }: Dataset): string {
  if (id === "shapes") return "small-cnn"; // trains in seconds; the others are DomainBed's choice
  if (inputShape.length === 1) return "mlp";
  if (inputShape[1] === 28) return "mnist-cnn";
  return inputShape[1] === 32 ? "wide-resnet-16-2" : "resnet50";
}
