/**
 * What happens to a picture before a network sees it, as the field does it with torchvision on PIL pictures:
 *
 * - plain: resized to exactly size × size whatever its shape, or its short side resized and the centre cropped; then normalised;
 * - augmented: a random crop resized to size × size, a flip, brightness, contrast, saturation and hue in random order, now and
 *   then grey, then normalised.
 *
 * Every resize is PIL's with antialias, bilinear or bicubic.
 *
 * A sample's draw is made here, on the host, from a stream of its own; carrying it out is the addon's fused kernel on the
 * CPU (native/src/augment.cc) or kernels of our own on a GPU (augment-device.ts). The order of the numbers in a draw is that of
 * `struct Draw` in native/src/picture.h.
 */
import { loadNative } from "../engine/load.js";
import type { Philox } from "../engine/philox.js";
import { portableExp, portableLog } from "../engine/portable-math.js";
import { Tensor } from "../engine/tensor.js";
import { handle } from "../engine/wrap.js";
import { UsageError } from "../errors.js";
import type { Interpolation } from "./framing.js";
import { normalizations } from "./normalization.js";

/** From where to where something is drawn, uniformly. */
export type Interval = readonly [from: number, to: number];

/** How far the random draws go. */
export interface Augmentation {
  /** Share of the picture's area that the crop has. */
  readonly scale: Interval;
  /** Width by height of the crop; uniform in its logarithm. */
  readonly ratio: Interval;
  /** Probability of a horizontal flip. */
  readonly flip: number;
  readonly brightness: Interval;
  readonly contrast: Interval;
  readonly saturation: Interval;
  /** Shift, as a share of the circle of hues. */
  readonly hue: Interval;
  /** Probability of losing all colour. */
  readonly gray: number;
}

/** The augmentation of DomainBed and all that came from it. */
export const domainBedAugmentation: Augmentation = {
  scale: [0.7, 1],
  ratio: [3 / 4, 4 / 3],
  flip: 0.5,
  brightness: [0.7, 1.3],
  contrast: [0.7, 1.3],
  saturation: [0.7, 1.3],
  hue: [-0.3, 0.3],
  gray: 0.1,
};

/** ImageNet's mean and standard deviation of red, green and blue, with which most pretrained networks expect pictures. */
export const imageNetMean = Float32Array.from(normalizations.imagenet.mean);
export const imageNetStd = Float32Array.from(normalizations.imagenet.std);

/** Numbers in a draw, and where each of them is. */
export const drawLength = 18;
export const drawField = {
  left: 0,
  top: 1,
  width: 2,
  height: 3,
  flip: 4,
  brightness: 5,
  contrast: 6,
  saturation: 7,
  hue: 8,
  /** Four places: which of brightness 0, contrast 1, saturation 2 and hue 3 comes first, second, … */
  order: 9,
  gray: 13,
  /** The width and height that the crop is resized to; 0 for those of the result. */
  wide: 14,
  high: 15,
  /** Where the result begins in it. */
  x: 16,
  y: 17,
} as const;

/** The draw of the plain pipeline: all of the picture, nothing changed. */
export function plainDraw(width: number, height: number, into: Float32Array): void {
  into.set([0, 0, width, height, 0, 1, 1, 1, 0, 0, 1, 2, 3, 0, 0, 0, 0, 0]);
}

/**
 * The plain draw of a picture whose short side is resized to `shortSide`, and whose centre of size × size is then cropped, as
 * torchvision's Resize and CenterCrop do it.
 */
export function centreCropDraw(
  { width, height }: { width: number; height: number },
  { shortSide, size }: { shortSide: number; size: number },
  into: Float32Array,
): void {
  plainDraw(width, height, into);
  const short = Math.min(width, height);
  const resized = (side: number): number => (side === short ? shortSide : Math.floor((shortSide * side) / short));
  // Python rounds a half to the even number.
  const centred = (side: number): number => {
    const half = (side - size) / 2;
    return half % 1 === 0.5 ? 2 * Math.round(half / 2) : Math.round(half);
  };
  const [wide, high] = [resized(width), resized(height)];
  into.set([wide, high, centred(wide), centred(high)], drawField.wide);
}

/**
 * Draws an augmentation for a picture of this size. Colours are drawn before the crop, which takes as many numbers as it
 * has to try, so that they do not depend on the picture's size.
 */
export function drawAugmentation(
  random: Philox,
  width: number,
  height: number,
  into: Float32Array,
  settings: Augmentation = domainBedAugmentation,
): void {
  const { flip, brightness, contrast, saturation, hue, gray } = settings;
  into[drawField.flip] = Number(random.bernoulli(flip));
  into[drawField.brightness] = random.uniform(...brightness);
  into[drawField.contrast] = random.uniform(...contrast);
  into[drawField.saturation] = random.uniform(...saturation);
  into[drawField.hue] = random.uniform(...hue);
  into.set(random.permutation(4), drawField.order);
  into[drawField.gray] = Number(random.bernoulli(gray));
  into.set(drawCrop(random, width, height, settings), drawField.left);
  into.fill(0, drawField.wide);
}

/** Left, top, width and height of a random crop; after ten that do not fit, the largest central one of an allowed shape. */
function drawCrop(random: Philox, width: number, height: number, { scale, ratio }: Augmentation): number[] {
  const logRatio: Interval = [portableLog(ratio[0]), portableLog(ratio[1])];
  for (let attempt = 0; attempt < 10; attempt++) {
    const area = width * height * random.uniform(...scale);
    const shape = portableExp(random.uniform(...logRatio));
    const [w, h] = [Math.round(Math.sqrt(area * shape)), Math.round(Math.sqrt(area / shape))];
    if (w < 1 || w > width || h < 1 || h > height) continue;
    const top = random.integer(height - h + 1);
    return [random.integer(width - w + 1), top, w, h];
  }
  const w = Math.min(width, Math.max(1, Math.round(height * ratio[1])));
  const h = Math.min(height, Math.max(1, Math.round(width / ratio[0])));
  return [Math.floor((width - w) / 2), Math.floor((height - h) / 2), w, h];
}

/** Where the pixels of some pictures are: RGB, three bytes a pixel, row by row, each picture's bytes without a gap. */
export interface PixelBlock {
  /** The bytes, on the device they will be worked on; null where they are read from files. */
  readonly source: Tensor | null;
  /** The descriptor of each picture's file, where `source` is null. */
  readonly files?: Int32Array;
  /** Where each picture begins. */
  readonly offsets: Float64Array;
  /** Width and height of each. */
  readonly sizes: Int32Array;
}

export interface AugmentOptions {
  /** Width and height of the result. */
  size: number;
  /** Whether the result's memory has the channels last, as convolutions like it on some devices. */
  channelsLast?: boolean;
  mean?: Float32Array;
  std?: Float32Array;
  /** The default is bilinear. */
  interpolation?: Interpolation;
}

/** Carries out the draws with the addon's kernel: float32 [n, 3, size, size] on the CPU. */
export function augmentOnHost(pixels: PixelBlock, draws: Float32Array, options: AugmentOptions): Tensor {
  const { size, channelsLast = false, mean = imageNetMean, std = imageNetStd } = options;
  const { source, files, offsets, sizes } = pixels;
  if (draws.length !== offsets.length * drawLength)
    throw new UsageError(
      `augmentation: expected ${drawLength} numbers per picture, ${offsets.length * drawLength} in all, got ${draws.length}`,
    );
  const from = source && handle(source);
  const bicubic = options.interpolation === "bicubic";
  return new Tensor(loadNative().augment(from, offsets, sizes, draws, size, mean, std, channelsLast, files, bicubic));
}
