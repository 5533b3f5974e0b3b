/**
 * Adds LoRA to the selected matrices of a vision transformer's blocks. All other parameters of the network stay fixed.
 */

import type { Random } from "../engine/random.js";
import { UsageError } from "../errors.js";
import type { Linear } from "../nn/linear.js";
import { Lora, type LoraOptions } from "../nn/lora.js";
import { TransformerBlock } from "../nn/transformer-block.js";
import type { Backbone } from "./backbone.js";
import { VisionTransformer } from "./vision-transformer.js";

/**
 * The matrices of a block: query, key and value, the output projection of the attention, and the two matrices of the
 * MLP.
 */
export const LORA_TARGETS = ["q", "k", "v", "proj", "fc1", "fc2"] as const;
export type LoraTarget = (typeof LORA_TARGETS)[number];

export interface LoraSettings extends LoraOptions {
  readonly targets: readonly LoraTarget[];
}

/** Adds LoRA to an initialized backbone and freezes the existing parameters. */
export function addLora<B extends Backbone>(backbone: B, settings: LoraSettings, random: Random): B {
  if (!(backbone instanceof VisionTransformer))
    throw new UsageError(`LoRA needs a vision transformer, and this backbone is a ${backbone.constructor.name}`);
  for (const parameter of backbone.parameters()) parameter.freeze();
  const isTarget = (target: LoraTarget): boolean => settings.targets.includes(target);
  for (const [i, block] of backbone.blocks.layers.entries()) {
    if (!(block instanceof TransformerBlock)) continue;
    const { attn, mlp } = block;
    const layers: readonly [Linear, boolean[]][] = [
      [attn.qkv, [isTarget("q"), isTarget("k"), isTarget("v")]],
      [attn.proj, [isTarget("proj")]],
      [mlp.fc1, [isTarget("fc1")]],
      [mlp.fc2, [isTarget("fc2")]],
    ];
    for (const [place, [layer, adapted]] of layers.entries()) {
      if (!adapted.includes(true)) continue;
      layer.lora = new Lora(layer.inputs, layer.outputs, adapted, settings);
      layer.lora.initialize(random.for("lora", i, place));
    }
  }
  return backbone;
}
