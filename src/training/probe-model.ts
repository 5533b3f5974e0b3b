/**
 * The model of a probe, made whole. What was trained is the map and what stands on it; the file that is used has the frozen
 * network under it too, so that it takes pictures as any other model does.
 */

import { openWeights } from "../engine/open-weights.js";
import { scope } from "../engine/scope.js";
import { readWeights, writeWeights } from "../engine/weights.js";
import type { Plan } from "../settings/resolve.js";
import { bodyOf } from "./make-learner.js";

/** `backbone` of `backbone.map.weight`: the modules that are maps on a frozen network. */
const MAP = /^([^.]+)\.map\.weight$/;

/** Adds the tensors of the frozen network to a model file, under every map that is in it. */
export function addBody(path: string, plan: Plan): void {
  const { metadata } = openMetadata(path);
  using body = bodyOf(plan);
  scope(() => {
    const trained = readWeights(path);
    const tensors = new Map(
      [...trained].flatMap(([name, tensor]) => {
        const module = MAP.exec(name)?.[1];
        const below = module === undefined ? [] : [...body.stateDict()];
        return [...below.map(([own, each]) => [`${module}.body.${own}`, each] as const), [name, tensor] as const];
      }),
    );
    writeWeights(path, tensors, metadata);
  });
}

function openMetadata(path: string): { metadata: Readonly<Record<string, string>> } {
  using file = openWeights(path);
  return { metadata: file.metadata };
}
