/**
 * Finds pretrained weights if no backbone was named: the given file, `$NUDGE_WEIGHTS`, the cache, or torchvision's
 * downloads.
 */

import { statSync } from "node:fs";
import { trainedBackbones } from "../backbones/backbone-of-weights.js";
import { fileNamed, findWeights } from "../backbones/find-weights.js";
import { weightsFacts } from "../backbones/weights-facts.js";
import { UsageError } from "../errors.js";

export interface TrainedBackbone {
  readonly backbone: string;
  readonly file: string;
}

/** The weights to start from; undefined if there are none. A given file must exist and be usable. */
export function findTrained(named?: string): TrainedBackbone | undefined {
  const file = named === undefined ? process.env.NUDGE_WEIGHTS : fileNamed(named);
  const there = file ? statSync(file, { throwIfNoEntry: false }) : undefined;
  if (named === undefined && file && !there) throw new UsageError(`$NUDGE_WEIGHTS is ${file}: no such file or folder`);
  if (file && (named !== undefined || there?.isFile())) {
    const { backbone, description } = weightsFacts(file);
    if (backbone === undefined)
      throw new UsageError(`the weights ${file} belong to ${description}; name the backbone with --backbone`);
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
