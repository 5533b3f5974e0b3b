/**
 * Resizes the position embeddings of a vision transformer to another grid of patches. Each library uses a different
 * method, and the results differ:
 *
 * - torchvision: bicubic with aligned corners
 * - timm (and open_clip): bicubic with antialiasing
 * - hugging-face: bicubic without antialiasing
 * - dinov2: bicubic with scale factors of (size + 0.1)/old size, which shift the samples slightly. Models with
 *   registers use   the method of timm.
 *
 * Leading rows, such as that of the class token, are not part of the grid and stay unchanged.
 */

import { cat } from "../engine/ops.generated.js";
import type { Tensor } from "../engine/tensor.js";
import { UsageError } from "../errors.js";
import { toFullPrecision } from "./precision.js";

export const POSITION_RULES = ["torchvision", "timm", "hugging-face", "dinov2"] as const;
export type PositionRule = (typeof POSITION_RULES)[number];

/** A grid of patches. */
export type Grid = readonly [rows: number, columns: number];

/** DINOv2 adds this to a size before it divides by the old size. */
const DINOV2_OFFSET = 0.1;

/** Resizes positions [1, leading + rows · columns, width] from the grid `from` to the grid `to`. Differentiable. */
export function resizePositions(
  positions: Tensor,
  { from, to, leading, rule }: { from: Grid; to: Grid; leading: number; rule: PositionRule },
): Tensor {
  if (from[0] === to[0] && from[1] === to[1]) return positions;
  const [, rows, width] = positions.shape;
  if (rows !== leading + from[0] * from[1])
    throw new UsageError(`position embedding: expected ${leading + from[0] * from[1]} rows, got ${rows}`);
  const patches = toFullPrecision(positions.narrow(1, leading, rows - leading)); // not every device has a 16-bit bicubic kernel
  const map = patches.reshape(1, from[0], from[1], width).permute([0, 3, 1, 2]).contiguous();
  const made = resizeMap(map, { from, to, rule })
    .permute([0, 2, 3, 1])
    .reshape(1, to[0] * to[1], width);
  return leading === 0 ? made : cat([toFullPrecision(positions.narrow(1, 0, leading)), made], 1);
}

function resizeMap(map: Tensor, { from, to, rule }: { from: Grid; to: Grid; rule: PositionRule }): Tensor {
  switch (rule) {
    case "torchvision":
      return map.upsampleBicubic2d(to, true);
    case "timm":
      return map.upsampleBicubic2dAntialias(to, false);
    case "hugging-face":
      return map.upsampleBicubic2d(to, false);
    case "dinov2": {
      const [rows, columns] = to.map((size, i) => (size + DINOV2_OFFSET) / from[i]);
      return map.upsampleBicubic2d(to, false, rows, columns);
    }
  }
}
