/**
 * Selects the memory format of feature maps and convolution weights: contiguous, or channels last. The results are the
 * same up to rounding, so the memory format is not a setting of a run and not part of its name. It depends only on the
 * device and the network, so that a resumed run uses the same format.
 */

import type { Precision } from "../nn/precision.js";
import { backboneNamed } from "./index.js";

export interface LayoutOptions {
  /** The id of a backbone. */
  readonly backbone: string;
  /** The shape of one input. */
  readonly inputShape: readonly number[];
  readonly device: string;
  readonly precision: Precision;
}

/** Returns true if a network runs in channels last: on a GPU in bfloat16, and otherwise if its definition says so. */
export function usesChannelsLast({ backbone, inputShape, device, precision }: LayoutOptions): boolean {
  if (inputShape.length !== 3) return false;
  const { channelsLastOnCpu = false, channelsLastOnGpu = false } = backboneNamed(backbone);
  return device === "cpu" ? channelsLastOnCpu : precision === "bf16" || channelsLastOnGpu;
}
