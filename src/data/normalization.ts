/**
 * The mean and standard deviation of red, green and blue that pictures are normalised with, where 255 is 1. A network expects those
 * that it was trained with.
 */

export interface Colours {
  readonly mean: readonly number[];
  readonly std: readonly number[];
}

export const normalizations = {
  /** ImageNet's, of torchvision, DINO, DINOv2 and most of timm. */
  imagenet: { mean: [0.485, 0.456, 0.406], std: [0.229, 0.224, 0.225] },
  /** To the range from -1 to 1: of Google's ViT and most ViT of timm. */
  half: { mean: [0.5, 0.5, 0.5], std: [0.5, 0.5, 0.5] },
  /** Of the pictures that CLIP was trained on. */
  clip: { mean: [0.48145466, 0.4578275, 0.40821073], std: [0.26862954, 0.26130258, 0.27577711] },
} as const satisfies Record<string, Colours>;

export type Normalization = keyof typeof normalizations;

/** As the augmentation takes them. */
export const asArrays = ({ mean, std }: Colours): { mean: Float32Array; std: Float32Array } => ({
  mean: Float32Array.from(mean),
  std: Float32Array.from(std),
});

/** The name of what a model file has; undefined where it is none of these. */
export const normalizationOf = ({ mean, std }: Colours): Normalization | undefined =>
  (Object.keys(normalizations) as Normalization[]).find(
    (name) => `${normalizations[name].mean}` === `${mean}` && `${normalizations[name].std}` === `${std}`,
  );
