/** Settings that depend on the depth of the backbone: which parts are frozen, learning rates by depth, and stochastic depth. */

import { type Freeze, trainedBlocks } from "../backbones/depth.js";
import { backboneNamed, backbones } from "../backbones/index.js";
import type { FilledKeys } from "../declared-settings/keys.js";
import { storedOf } from "../declared-settings/stored.js";
import { UsageError } from "../errors.js";

/** The given settings, checked against the backbone; empty if the whole backbone is trained with one learning rate. */
export function partialTraining(asked: FilledKeys, id: string) {
  const { blocks, stochasticDepth: hasStochasticDepth } = backboneNamed(id);
  const { freeze, stochasticDepth, probe } = asked;
  const settled = storedOf(asked, "freeze", "layerDecay", "stochasticDepth");
  const given = Object.entries(settled).map(([name, value]) => `${name}=${value}`);
  if (given.length === 0) return {};
  if (probe) throw new UsageError(`${given[0]}: a probe trains nothing of the backbone; leave it out`);
  if (((freeze !== "none" && freeze !== "all") || settled.layerDecay !== undefined) && blocks === undefined)
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
  return settled as { freeze?: Freeze; layerDecay?: number; stochasticDepth?: number };
}

const having = (fact: "blocks" | "stochasticDepth"): string =>
  Object.keys(backbones)
    .filter((id) => backboneNamed(id)[fact])
    .join(", ");
