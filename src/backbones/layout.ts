/**
 * In which order maps and the weights of convolutions lie in memory: plane by plane, or with the channels of a pixel
 * together ("channels last"). The numbers are the same but for rounding, so the order is no setting of a run and not in its
 * name; it follows from the device and the network alone, so that a run goes on in the order it began in.
 */

import type { Precision } from "../nn/precision.js";
import { backboneNamed } from "./index.js";

export interface LayoutOptions {
  /** A backbone's id. */
  readonly backbone: string;
  /** The sizes of one input. */
  readonly inputShape: readonly number[];
  readonly device: string;
  readonly precision: Precision;
}

/** Whether a network is run with channels last: on a GPU in bfloat16, on the CPU where its definition says so. */
export function likesChannelsLast({ backbone, inputShape, device, precision }: LayoutOptions): boolean {
  if (inputShape.length !== 3) return false;
  return device === "cpu" ? (backboneNamed(backbone).channelsLastOnCpu ?? false) : precision === "bf16";
}
