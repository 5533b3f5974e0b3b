/**
 * Divides a backbone by depth: the stem, the blocks in order, and the layers after the last block. Partial fine-tuning
 * uses it: `freeze=` freezes the first parts, and `layerDecay=` trains them with smaller learning rates.
 */

import { UsageError } from "../errors.js";
import { BatchNorm } from "../nn/batch-norm.js";
import type { Parameter } from "../nn/module.js";
import type { Backbone } from "./backbone.js";

/** The parameters of a backbone, from the input to the output. */
export interface Depths {
  readonly stem: readonly Parameter[];
  readonly blocks: readonly (readonly Parameter[])[];
  /** The parameters after the last block: a final norm, or a final convolution. */
  readonly end: readonly Parameter[];
}

/** Returns the parameters by depth, or undefined if the backbone does not define its blocks. */
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
    // Layers between two blocks, such as downsampling layers, belong to the following block.
    if (place !== undefined) blocks[place].push(parameter);
    else if (latest === -1) stem.push(parameter);
    else (blocks[latest + 1] ?? end).push(parameter);
  }
  return { stem, blocks, end };
}

/** The parts of a backbone that are frozen. */
export type Freeze = "stem" | "all" | `all-but-${number}`;

/** Returns the number of last blocks that are trained, or undefined for `stem` and `all`. */
export const trainedBlocks = (freeze: Freeze): number | undefined =>
  freeze.startsWith("all-but-") ? Number(freeze.slice("all-but-".length)) : undefined;

/**
 * Freezes parts of a backbone: their parameters have no gradients and are not optimized, and their batch norms keep
 * their statistics.
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
 * Returns the factor of the learning rate for each parameter: decay^(L + 1 − i) in block i of L, where the stem is 0
 * (Bao et al., BEiT, 2022). As in timm, layers after the last block have the rate of the last block. The classifier,
 * which would be L + 1, has the full learning rate.
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
