/** Settings that depend on the depth of the backbone: which parts are frozen, learning rates by depth, and stochastic depth. */

import { trainedBlocks } from "../backbones/depth.js";
import { backboneNamed, backbones } from "../backbones/index.js";
import { UsageError } from "../errors.js";
import type { FilledKeys } from "./keys.js";

/** The given settings, checked against the backbone; empty if the whole backbone is trained with one learning rate. */
export function partialTraining(
  { freeze = "none", layerDecay = 1, stochasticDepth = 0, probe }: FilledKeys,
  id: string,
) {
  const { blocks, stochasticDepth: hasStochasticDepth } = backboneNamed(id);
  const given = [
    ...(freeze === "none" ? [] : [`freeze=${freeze}`]),
    ...(layerDecay === 1 ? [] : [`layerDecay=${layerDecay}`]),
    ...(stochasticDepth === 0 ? [] : [`stochasticDepth=${stochasticDepth}`]),
  ];
  if (given.length === 0) return {};
  if (probe) throw new UsageError(`${given[0]}: a probe trains nothing of the backbone; leave it out`);
  if (((freeze !== "none" && freeze !== "all") || layerDecay !== 1) && blocks === undefined)
    throw new UsageError(
      `${given[0]}: the backbone ${id} does not say which its blocks are; those that do: ${having("blocks")}`,
    );
  const trained = freeze === "none" ? undefined : trainedBlocks(freeze);
  if (trained !== undefined && trained > blocks!)
    throw new UsageError(`freeze=${freeze}: ${id} has ${blocks} blocks; take a number from 1 to ${blocks}`);
  if (stochasticDepth > 0 && !hasStochasticDepth)
    throw new UsageError(
      `stochasticDepth=${stochasticDepth}: ${id} has no stochastic depth; those that have: ${having("stochasticDepth")}`,
    );
  return {
    ...(freeze !== "none" && { freeze }),
    ...(layerDecay !== 1 && { layerDecay }),
    ...(stochasticDepth > 0 && { stochasticDepth }),
  };
}

const having = (fact: "blocks" | "stochasticDepth"): string =>
  Object.keys(backbones)
    .filter((id) => backboneNamed(id)[fact])
    .join(", ");
