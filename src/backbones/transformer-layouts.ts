/** The sizes of all vision transformers. */

import type { GeluKind } from "../nn/activation.js";
import type { PositionRule } from "../nn/position-embedding.js";
import type { TransformerLayout } from "./vision-transformer.js";

const small = { width: 384, depth: 12, heads: 6 } as const;
const base = { width: 768, depth: 12, heads: 12 } as const;
const large = { width: 1024, depth: 24, heads: 16 } as const;

const variant = (eps: number, gelu: GeluKind, positions: PositionRule) =>
  ({ variant: { eps, gelu, positions } }) as const;
const vit = { side: 224, ...variant(1e-6, "exact", "torchvision") } as const;
const dinov2 = { side: 518, patch: 14, layerScale: true, ...variant(1e-6, "exact", "dinov2") } as const;
const registers = { ...dinov2, registers: 4, ...variant(1e-6, "exact", "timm") } as const;
const clip = { side: 224, ...variant(1e-5, "quick", "timm") } as const;

export const TRANSFORMERS = {
  vit_s_16: { ...small, patch: 16, ...vit },
  vit_b_16: { ...base, patch: 16, ...vit },
  vit_b_32: { ...base, patch: 32, ...vit },
  vit_l_16: { ...large, patch: 16, ...vit },
  dinov2_vits14: { ...small, ...dinov2 },
  dinov2_vitb14: { ...base, ...dinov2 },
  dinov2_vitl14: { ...large, ...dinov2 },
  dinov2_vits14_reg: { ...small, ...registers },
  dinov2_vitb14_reg: { ...base, ...registers },
  dinov2_vitl14_reg: { ...large, ...registers },
  clip_vit_b_32: { ...base, patch: 32, projection: 512, ...clip },
  clip_vit_b_16: { ...base, patch: 16, projection: 512, ...clip },
  clip_vit_l_14: { ...large, patch: 14, projection: 768, ...clip },
} as const satisfies Record<string, TransformerLayout>;

export type TransformerId = keyof typeof TRANSFORMERS;

/** Returns the number of features. */
export const featuresOf = ({ width, projection }: TransformerLayout): number => projection ?? width;

/** Returns the number of parameters for pictures with three channels and this side length. */
export function parametersOf(
  { width, depth, patch, registers = 0, layerScale, projection }: TransformerLayout,
  side: number,
): number {
  const tokens = 1 + registers; // the class token and the registers
  const positions = 1 + (side / patch) ** 2;
  const isClip = projection !== undefined;
  const perPatch = 3 * patch ** 2 + (isClip ? 0 : 1);
  const block = 12 * width + 13 + (layerScale ? 2 : 0); // per channel: four matrices with biases and two norms
  return width * (tokens + positions + perPatch + depth * block + (isClip ? 4 + projection : 2));
}
