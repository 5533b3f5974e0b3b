/**
 * The transformation of a picture to the input of a network, as done with torchvision on PIL pictures:
 *
 * - plain: resized to size × size without keeping the aspect ratio, or the short side resized and the center cropped;
 *   then normalized;
 * - augmented: a random crop resized to size × size, a flip, brightness, contrast, saturation and hue in random order,
 *   sometimes grayscale, then normalized.
 *
 * Every resize equals PIL's with antialiasing, bilinear or bicubic.
 *
 * The random draw of a sample is made here, on the host, from its own random stream. It is applied by the addon's fused
 * kernel on the CPU (native/src/augment.cc) or by our kernels on a GPU (augment-device.ts). The order of the numbers in
 * a draw is that of `struct Draw` in native/src/picture.h.
 */
import { loadNative } from "../engine/load.js";
import type { Philox } from "../engine/philox.js";
import { portableExp, portableLog } from "../engine/portable-math.js";
import { Tensor } from "../engine/tensor.js";
import { handle } from "../engine/wrap.js";
import { UsageError } from "../errors.js";
import type { Interpolation } from "./framing.js";
import { normalizations } from "./normalization.js";

/** The range of a uniform distribution. */
export type Interval = readonly [from: number, to: number];

/** The ranges of the random draws. */
export interface Augmentation {
  /** The area of the crop as a fraction of the picture. */
  readonly scale: Interval;
  /** The aspect ratio of the crop, uniform in its logarithm. */
  readonly ratio: Interval;
  /** Probability of a horizontal flip. */
  readonly flip: number;
  readonly brightness: Interval;
  readonly contrast: Interval;
  readonly saturation: Interval;
  /** The shift as a fraction of the hue circle. */
  readonly hue: Interval;
  /** Probability of a conversion to grayscale. */
  readonly gray: number;
}

/** The augmentation of DomainBed and of the code derived from it. */
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

/** The mean and standard deviation of ImageNet (red, green, blue), which most pretrained networks expect. */
export const imageNetMean = Float32Array.from(normalizations.imagenet.mean);
export const imageNetStd = Float32Array.from(normalizations.imagenet.std);

/** The numbers in a draw and their positions. */
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
  /** Four positions: the order of brightness (0), contrast (1), saturation (2) and hue (3). */
  order: 9,
  gray: 13,
  /** The width and height that the crop is resized to; 0 means those of the result. */
  wide: 14,
  high: 15,
  /** The start of the result in it. */
  x: 16,
  y: 17,
} as const;

/** The draw of the plain transformation: the whole picture, unchanged. */
export function plainDraw(width: number, height: number, into: Float32Array): void {
  into.set([0, 0, width, height, 0, 1, 1, 1, 0, 0, 1, 2, 3, 0, 0, 0, 0, 0]);
}

/**
 * The plain draw with the short side resized to `shortSide` and the central size × size cropped, like torchvision's
 * Resize and CenterCrop.
 */
export function centreCropDraw(
  { width, height }: { width: number; height: number },
  { shortSide, size }: { shortSide: number; size: number },
  into: Float32Array,
): void {
  plainDraw(width, height, into);
  const short = Math.min(width, height);
  const resized = (side: number): number => (side === short ? shortSide : Math.floor((shortSide * side) / short));
  // Python rounds halves to even.
  const centred = (side: number): number => {
    const half = (side - size) / 2;
    return half % 1 === 0.5 ? 2 * Math.round(half / 2) : Math.round(half);
  };
  const [wide, high] = [resized(width), resized(height)];
  into.set([wide, high, centred(wide), centred(high)], drawField.wide);
}

/**
 * Draws an augmentation for a picture of this size. Colors are drawn before the crop, which needs a varying number of
 * random numbers, so that colors do not depend on the size of the picture.
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

/**
 * Left, top, width and height of a random crop. After ten attempts that do not fit, the largest central crop with an
 * allowed aspect ratio.
 */
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

/** The positions of the pixels of some pictures: RGB, three bytes per pixel, row by row, without gaps. */
export interface PixelBlock {
  /** The bytes, on the device that processes them; null if each picture has its own or they are read from files. */
  readonly source: Tensor | null;
  /** The bytes of each picture, on the host. */
  readonly parts?: readonly Uint8Array[];
  /** The file descriptor of each picture. */
  readonly files?: Int32Array;
  /** The start of each picture. */
  readonly offsets: Float64Array;
  /** Width and height of each. */
  readonly sizes: Int32Array;
}

export interface AugmentOptions {
  /** Width and height of the result. */
  size: number;
  /** Whether the result is in the channels-last memory format, which convolutions prefer on some devices. */
  channelsLast?: boolean;
  mean?: Float32Array;
  std?: Float32Array;
  /** The default is bilinear. */
  interpolation?: Interpolation;
}

/** Applies the draws with the kernel of the addon: float32 [n, 3, size, size] on the CPU. */
export function augmentOnHost(pixels: PixelBlock, draws: Float32Array, options: AugmentOptions): Tensor {
  const { size, channelsLast = false, mean = imageNetMean, std = imageNetStd } = options;
  const { source, parts = null, files, offsets, sizes } = pixels;
  if (draws.length !== offsets.length * drawLength)
    throw new UsageError(
      `augmentation: expected ${drawLength} numbers per picture, ${offsets.length * drawLength} in all, got ${draws.length}`,
    );
  const from = source ? handle(source) : parts;
  const bicubic = options.interpolation === "bicubic";
  return new Tensor(loadNative().augment(from, offsets, sizes, draws, size, mean, std, channelsLast, files, bicubic));
}
