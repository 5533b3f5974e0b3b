/**
 * Which trained weights there are to start from, when nobody said which backbone: the file named, what `$NUDGE_WEIGHTS`
 * points to, or the cache. Which backbone a file is of, its tensors tell.
 */

import { statSync } from "node:fs";
import { findWeights, weightsFolder } from "../backbones/find-weights.js";
import { openWeights } from "../engine/open-weights.js";
import { UsageError } from "../errors.js";

export interface TrainedBackbone {
  readonly backbone: string;
  readonly file: string;
}

/** In the order they are taken: the first is fast on a CPU. */
const PREFERRED = ["mobilenet_v2", "resnet50", "resnet18", "resnet34"] as const;

/** Tensors by which a backbone is known, and such that it does not have. */
const SIGNS: Readonly<Record<(typeof PREFERRED)[number], { has: readonly string[]; lacks: readonly string[] }>> = {
  mobilenet_v2: { has: ["features.1.conv.0.0.weight", "features.18.0.weight"], lacks: [] },
  resnet50: { has: ["layer1.0.conv3.weight", "layer3.5.conv3.weight"], lacks: ["layer3.6.conv3.weight"] },
  resnet34: { has: ["layer1.2.conv2.weight", "layer3.5.conv2.weight"], lacks: ["layer1.0.conv3.weight"] },
  resnet18: { has: ["layer1.1.conv2.weight"], lacks: ["layer1.0.conv3.weight", "layer1.2.conv2.weight"] },
};

/** The backbone that a file's weights are of; undefined where it is none of those there are. */
export function backboneOf(file: string): string | undefined {
  using weights = openWeights(file);
  const names = [...weights.tensors.keys()];
  const has = (sign: string): boolean => names.some((name) => name === sign || name.endsWith(`.${sign}`));
  return PREFERRED.find((id) => SIGNS[id].has.every(has) && !SIGNS[id].lacks.some(has));
}

/** The weights to start from; undefined where there are none. What was named must be there and be of use. */
export function findTrained(named?: string): TrainedBackbone | undefined {
  const file = named ?? process.env.NUDGE_WEIGHTS;
  if (file && (named !== undefined || statSync(file, { throwIfNoEntry: false })?.isFile())) {
    if (!statSync(file, { throwIfNoEntry: false })?.isFile()) throw new UsageError(`the weights ${file}: no such file`);
    const backbone = backboneOf(file);
    if (backbone === undefined)
      throw new UsageError(
        `the weights ${file}: their names are not those of ${PREFERRED.join(", ")}; say with --backbone what they are of`,
      );
    return { backbone, file };
  }
  for (const backbone of PREFERRED) {
    try {
      return { backbone, file: findWeights(backbone) };
    } catch (error) {
      if (!(error instanceof UsageError)) throw error;
    }
  }
  return undefined;
}

/** How to come by trained weights, in words. */
export const howToGetWeights = (): string =>
  `take torchvision's mobilenet_v2 with the weights IMAGENET1K_V1 (a .pth file) and name it with --weights FILE, or put it in ${weightsFolder()} as mobilenet_v2.pth`;
