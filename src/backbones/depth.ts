/**
 * A backbone by depth: the stem, the blocks one after the other, and what comes after the last one. Partial fine-tuning goes by
 * it: `freeze=` keeps the first parts as they are, and `layerDecay=` trains them at smaller rates.
 */

import { UsageError } from "../errors.js";
import { BatchNorm } from "../nn/batch-norm.js";
import type { Parameter } from "../nn/module.js";
import type { Backbone } from "./backbone.js";

/** The parameters of a backbone, the first ones first. */
export interface Depths {
  readonly stem: readonly Parameter[];
  readonly blocks: readonly (readonly Parameter[])[];
  /** After the last block: a last norm, or a last convolution. */
  readonly end: readonly Parameter[];
}

/** The parameters by depth; undefined where the backbone does not say which its blocks are. */
export function depthsOf(backbone: Backbone): Depths | undefined {
  const modules = backbone.orderedBlocks?.();
  if (!modules || modules.length === 0) return undefined;
  const places = new Map<Parameter, number>();
  for (const [i, module] of modules.entries())
    for (const [, parameter] of module.namedParameters()) places.set(parameter, i);
  const blocks: Parameter[][] = modules.map(() => []);
  const [stem, end]: [Parameter[], Parameter[]] = [[], []];
  const seen = new Set<Parameter>();
  let latest = -1;
  for (const [, parameter] of backbone.namedParameters()) {
    if (seen.has(parameter)) continue;
    seen.add(parameter);
    const place = places.get(parameter);
    if (place !== undefined) latest = place;
    // What stands between two blocks, such as a downsampling layer, goes with the one that follows it.
    if (place !== undefined) blocks[place].push(parameter);
    else if (latest === -1) stem.push(parameter);
    else (blocks[latest + 1] ?? end).push(parameter);
  }
  return { stem, blocks, end };
}

/** Which parts of a backbone are not trained. */
export type Freeze = "stem" | "all" | `all-but-${number}`;

/** How many of the last blocks are trained; undefined for `stem` and `all`. */
export const trainedBlocks = (freeze: Freeze): number | undefined =>
  freeze.startsWith("all-but-") ? Number(freeze.slice("all-but-".length)) : undefined;

/**
 * Keeps parts of a backbone as they are: their parameters have no gradients and are in no optimizer, and their batch norms keep
 * the statistics that they have.
 */
export function freezeBackbone<B extends Backbone>(backbone: B, freeze: Freeze): B {
  for (const parameter of partsToFreeze(backbone, freeze)) parameter.freeze();
  for (const [, module] of backbone.modules())
    if (module instanceof BatchNorm && module.weight.frozen) module.frozen = true;
  return backbone;
}

function partsToFreeze(backbone: Backbone, freeze: Freeze): Iterable<Parameter> {
  if (freeze === "all") return backbone.parameters();
  const depths = depthsOf(backbone);
  if (!depths) throw new UsageError(`freeze ${freeze}: ${backbone.constructor.name} does not say which its blocks are`);
  const { stem, blocks } = depths;
  if (freeze === "stem") return stem;
  const kept = trainedBlocks(freeze)!;
  if (kept > blocks.length)
    throw new UsageError(`freeze ${freeze}: ${backbone.constructor.name} has ${blocks.length} blocks`);
  return [...stem, ...blocks.slice(0, blocks.length - kept).flat()];
}

/**
 * What the learning rate of each parameter is multiplied by: decay^(L + 1 − i) in block i of L, where the stem is 0 (Bao et al.,
 * BEiT, 2022). What comes after the last block has its rate, as in timm. The classifier, which would be L + 1, has the full one.
 */
export function depthRates(backbone: Backbone, decay: number): Map<Parameter, number> {
  const depths = depthsOf(backbone);
  if (!depths)
    throw new UsageError(`layerDecay ${decay}: ${backbone.constructor.name} does not say which its blocks are`);
  const { stem, blocks, end } = depths;
  const parts = [stem, ...blocks.map((block, i) => (i === blocks.length - 1 ? [...block, ...end] : block))];
  return new Map(
    parts.flatMap((part, i) => part.map((parameter) => [parameter, decay ** (parts.length - i)] as const)),
  );
}
