/**
 * Which trained weights there are to start from, when nobody said which backbone: the file named, what `$NUDGE_WEIGHTS`
 * points to, the cache, or what torchvision has downloaded.
 */

import { statSync } from "node:fs";
import { backboneOfWeights, trainedBackbones } from "../backbones/backbone-of-weights.js";
import { downloadWords, findWeights, weightsFolder } from "../backbones/find-weights.js";
import { UsageError } from "../errors.js";

export interface TrainedBackbone {
  readonly backbone: string;
  readonly file: string;
}

/** The weights to start from; undefined where there are none. What was named must be there and be of use. */
export function findTrained(named?: string): TrainedBackbone | undefined {
  const file = named ?? process.env.NUDGE_WEIGHTS;
  const there = file ? statSync(file, { throwIfNoEntry: false }) : undefined;
  if (named === undefined && file && !there) throw new UsageError(`$NUDGE_WEIGHTS is ${file}: no such file or folder`);
  if (file && (named !== undefined || there?.isFile())) {
    if (!there?.isFile()) throw new UsageError(`the weights ${file}: no such file`);
    const backbone = backboneOfWeights(file);
    if (backbone === undefined)
      throw new UsageError(
        `the weights ${file}: their names are not those of ${trainedBackbones.join(", ")}; say with --backbone what they are of`,
      );
    return { backbone, file };
  }
  for (const backbone of trainedBackbones) {
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
  `take torchvision's mobilenet_v2 with the weights IMAGENET1K_V1 (a .pth file) and name it with --weights FILE, or put it in ${weightsFolder()} as mobilenet_v2.pth${downloadWords("mobilenet_v2")}`;
