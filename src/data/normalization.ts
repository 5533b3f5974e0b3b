/**
 * The mean and standard deviation of red, green and blue (1 for 255) for normalizing pictures. A network expects those
 * that it was trained with.
 */

export interface Colours {
  readonly mean: readonly number[];
  readonly std: readonly number[];
}

export const normalizations = {
  /** ImageNet's, used by torchvision, DINO, DINOv2 and most of timm. */
  imagenet: { mean: [0.485, 0.456, 0.406], std: [0.229, 0.224, 0.225] },
  /** Maps to the range from -1 to 1; used by Google's ViT and most ViTs of timm. */
  half: { mean: [0.5, 0.5, 0.5], std: [0.5, 0.5, 0.5] },
  /** Those of CLIP's training pictures. */
  clip: { mean: [0.48145466, 0.4578275, 0.40821073], std: [0.26862954, 0.26130258, 0.27577711] },
  /** The mean that Caffe's networks subtract from the range 0 to 255, without a division; Keras's ResNet and VGG. */
  caffe: {
    mean: [123.68 / 255, 116.779 / 255, 103.939 / 255],
    std: [1 / 255, 1 / 255, 1 / 255],
  },
} as const satisfies Record<string, Colours>;

export type Normalization = keyof typeof normalizations;

/** In the form that the augmentation uses. */
export const asArrays = ({ mean, std }: Colours): { mean: Float32Array; std: Float32Array } => ({
  mean: Float32Array.from(mean),
  std: Float32Array.from(std),
});

/** The name of the normalization in a model file; undefined if it is none of these. */
export const normalizationOf = ({ mean, std }: Colours): Normalization | undefined =>
  (Object.keys(normalizations) as Normalization[]).find(
    (name) => `${normalizations[name].mean}` === `${mean}` && `${normalizations[name].std}` === `${std}`,
  );
