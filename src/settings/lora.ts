/** The settings of LoRA in a run, checked: rank, scale and adapted matrices. */

import { LORA_TARGETS, type LoraTarget } from "../backbones/add-lora.js";
import { TRANSFORMERS } from "../backbones/transformer-layouts.js";
import { unknownName } from "../closest-name.js";
import type { FilledKeys } from "../declared-settings/keys.js";
import { UsageError } from "../errors.js";
import type { StartingWeights } from "./starting-weights.js";

/** The settings of a run with LoRA; empty without LoRA. */
export function loraSettings(
  { lora, loraAlpha, loraTargets, probe, freeze }: FilledKeys,
  { backbone, file }: Pick<StartingWeights, "backbone" | "file">,
) {
  if (lora === undefined) {
    const alone = loraAlpha !== undefined ? "loraAlpha" : loraTargets !== undefined ? "loraTargets" : undefined;
    if (alone !== undefined) throw new UsageError(`${alone}: set the rank of LoRA too, for example lora=8`);
    return {};
  }
  if (!Object.hasOwn(TRANSFORMERS, backbone))
    throw new UsageError(
      `lora=${lora}: LoRA is for vision transformers, and the backbone is ${backbone}; take one of ${Object.keys(TRANSFORMERS).join(", ")}`,
    );
  if (probe) throw new UsageError(`lora=${lora}: a probe trains nothing of the backbone; leave out one of the two`);
  if (freeze !== "none")
    throw new UsageError(`lora=${lora}: LoRA freezes all other weights of the backbone; leave out freeze=${freeze}`);
  if (file === null)
    throw new UsageError(`lora=${lora}: LoRA adapts trained weights, and the backbone starts from random ones`);
  const targets = loraTargets ?? ["q", "v"];
  if (targets.length === 0) throw new UsageError(`loraTargets: expected some of ${LORA_TARGETS.join(", ")}, got none`);
  for (const target of targets)
    if (!LORA_TARGETS.includes(target as LoraTarget))
      throw new UsageError(unknownName("target of LoRA", target, LORA_TARGETS));
  // The targets have a fixed order, so that the same choice is always the same run.
  return { lora, loraAlpha: loraAlpha ?? lora, loraTargets: LORA_TARGETS.filter((each) => targets.includes(each)) };
}
