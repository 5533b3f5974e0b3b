/**
 * The augmentation of augment.ts for pictures whose bytes are on a GPU: with our own kernels
 * (native/src/augment-kernels.cc), or, if the GPU has none, with tensor operators, which take about ten times as long.
 * (The operators also run on the CPU, where the kernel of the addon is faster.) All variants compute the same bytes as
 * PIL.
 *
 * A resize is two matrix products per sample. Its crop is padded to the largest crop of the batch, and the weights are
 * zero on the padding. A flip reverses the rows of a matrix.
 */
import { fusedKernelsProblem } from "../engine/device.js";
import { arange, augmentPictures, cat } from "../engine/ops.generated.js";
import { scope } from "../engine/scope.js";
import { noGrad, type Tensor } from "../engine/tensor.js";
import { UsageError } from "../errors.js";
import { type AugmentOptions, drawField, drawLength, imageNetMean, imageNetStd, type PixelBlock } from "./augment.js";
import { jitterOnDevice } from "./jitter-device.js";
import { upload } from "./upload.js";

/**
 * The maximum number of pixels, including padding, that are processed at once: enough for a batch at size 224, and not
 * exceeded by long strips.
 */
const pixelsAtOnce = 2 ** 24;

/** Applies the draws on the device of the pixels: float32 [n, 3, size, size]. */
export function augmentOnDevice(pixels: PixelBlock, draws: Float32Array, options: AugmentOptions): Tensor {
  const { source, offsets, sizes } = pixels;
  if (!source) throw new UsageError("augmentation on a device: expected the pixels there, got files");
  if (draws.length !== offsets.length * drawLength)
    throw new UsageError(
      `augmentation: expected ${drawLength} numbers per picture, got ${draws.length} for ${offsets.length}`,
    );
  const samples = Array.from(offsets, (offset, i) => {
    const draw = draws.subarray(i * drawLength, (i + 1) * drawLength);
    const [width, height] = sizes.subarray(2 * i, 2 * i + 2);
    checkInside(i, draw, { offset, width, height, bytes: source.numel, size: options.size });
    return { offset, stride: width * 3, draw };
  });
  const augmentSome = fusedKernelsProblem(source.device) === "" ? augmentByKernels : augmentPart;
  return scope(() =>
    noGrad(() => {
      const parts = inParts(samples).map((part) => scope(() => augmentSome(source, part, options)));
      return parts.length === 1 ? parts[0] : cat(parts);
    }),
  );
}

/** One sample: the start of its picture, the bytes per row, and its draw. */
interface Sample {
  readonly offset: number;
  readonly stride: number;
  readonly draw: Float32Array;
}

/** A device cannot report an invalid address, so all positions are checked to be inside the bytes. NaN is rejected. */
function checkInside(
  i: number,
  draw: Float32Array,
  { offset, width, height, bytes, size }: Record<"offset" | "width" | "height" | "bytes" | "size", number>,
): void {
  const { left, top, w, h } = cropOf(draw);
  const { wide, high, x, y } = targetOf(draw, size);
  const result = x >= 0 && y >= 0 && x + size <= wide && y + size <= high;
  const crop = result && left >= 0 && top >= 0 && w >= 1 && h >= 1 && left + w <= width && top + h <= height;
  if (crop && offset >= 0 && offset + width * height * 3 <= bytes) return;
  throw new UsageError(
    `augmentation: sample ${i}: its crop or its pixels lie outside the picture (${width}×${height}): ${[left, top, w, h].join(", ")} at ${offset}`,
  );
}

/** The position and the size of a crop. The fields are read one by one, because this runs for every picture of a batch. */
const cropOf = (draw: Float32Array): Record<"left" | "top" | "w" | "h", number> => ({
  left: Math.floor(draw[drawField.left]),
  top: Math.floor(draw[drawField.top]),
  w: Math.floor(draw[drawField.width]),
  h: Math.floor(draw[drawField.height]),
});

/** The size that a crop is resized to, and the start of the result in it. */
const targetOf = (draw: Float32Array, size: number): Record<"wide" | "high" | "x" | "y", number> => ({
  wide: Math.floor(draw[drawField.wide]) || size,
  high: Math.floor(draw[drawField.high]) || size,
  x: Math.floor(draw[drawField.x]),
  y: Math.floor(draw[drawField.y]),
});

/**
 * The start of each sample's crop, the pixels per row of its picture, and its draw from the width on; see `struct
 * Sample`.
 */
function augmentByKernels(source: Tensor, samples: readonly Sample[], options: AugmentOptions): Tensor {
  const { size, channelsLast = false, mean = imageNetMean, std = imageNetStd } = options;
  const { device } = source;
  const known = new Float64Array(samples.length * drawLength);
  for (const [i, { offset, stride, draw }] of samples.entries()) {
    const { left, top, w, h } = cropOf(draw);
    const start = i * drawLength;
    known.set(draw, start);
    known[start] = offset + top * stride + left * 3;
    known[start + 1] = stride / 3;
    known[start + 2] = w;
    known[start + 3] = h;
  }
  const about = upload(known, { shape: [samples.length, drawLength], device });
  const [shift, scale] = [mean, std].map((values) => upload(values, { device }));
  const tallest = largest(samples, drawField.height);
  const bicubic = options.interpolation === "bicubic";
  return augmentPictures(source, about, size, tallest, shift, scale, channelsLast, bicubic);
}

const largest = (samples: readonly Sample[], field: number): number =>
  samples.reduce((most, { draw }) => Math.max(most, Math.floor(draw[field])), 1);

/** Groups of consecutive samples that fit together. */
function inParts(samples: readonly Sample[]): Sample[][] {
  const parts: Sample[][] = [[]];
  let [widest, tallest] = [1, 1];
  for (const sample of samples) {
    const { w, h } = cropOf(sample.draw);
    widest = Math.max(widest, w);
    tallest = Math.max(tallest, h);
    const part = parts.at(-1) as Sample[];
    if (part.length === 0 || (part.length + 1) * widest * tallest <= pixelsAtOnce) part.push(sample);
    else {
      parts.push([sample]);
      [widest, tallest] = [w, h];
    }
  }
  return parts;
}

function augmentPart(source: Tensor, samples: readonly Sample[], options: AugmentOptions): Tensor {
  const { channelsLast = false, mean = imageNetMean, std = imageNetStd } = options;
  const { device } = source;
  const picture = resized(source, samples, options); // [n, 3, size, size], integers from 0 to 255
  jitterOnDevice(
    picture,
    samples.map(({ draw }) => draw),
  );
  const [shift, scale] = [mean, std].map((values) => upload(values, { shape: [1, 3, 1, 1], device }));
  const made = picture.div_(255).sub_(shift).div_(scale);
  return channelsLast ? made.to({ memoryFormat: "channels_last" }) : made;
}

/** Resizes and flips the crops. */
function resized(
  source: Tensor,
  samples: readonly Sample[],
  { size, interpolation = "bilinear" }: AugmentOptions,
): Tensor {
  const { device } = source;
  const [n, width, height] = [samples.length, largest(samples, drawField.width), largest(samples, drawField.height)];
  // All values of the samples, copied to the device at once. float64 holds offsets exactly.
  const rows = samples.map(({ offset, stride, draw }) => {
    const { left, top, w, h } = cropOf(draw);
    const { wide, high, x, y } = targetOf(draw, size);
    return [offset + top * stride + left * 3, stride, w, h, draw[drawField.flip], wide, high, x, y];
  });
  const known = upload(rows, { dtype: "float64", device });
  const column = (i: number, ...shape: number[]): Tensor => known.select(1, i).reshape(n, ...shape);
  const count = (to: number): Tensor => arange(0, to, 1, { dtype: "float64", device });

  // The position of each byte of the padded crops. The padding repeats the last row and column.
  const y = count(height)
    .reshape(1, height, 1, 1)
    .minimum(column(3, 1, 1, 1).sub(1));
  const x = count(width)
    .reshape(1, 1, 1, width)
    .minimum(column(2, 1, 1, 1).sub(1));
  const rowStart = column(0, 1, 1, 1)
    .add(y.mul(column(1, 1, 1, 1)))
    .to({ dtype: "int64" });
  const inRow = x
    .mul(3)
    .add(count(3).reshape(1, 1, 3, 1))
    .to({ dtype: "int64" });
  const crops = source.indexSelect(0, rowStart.add(inRow).reshape(-1)); // [n, height, 3, width]

  const kernel = interpolation === "bicubic" ? CUBIC : TRIANGLE;
  const [across, down] = [
    weights(column(2, 1, 1), {
      padded: width,
      size,
      count,
      kernel,
      wide: column(5, 1, 1),
      from: column(7, 1, 1),
      flip: column(4, 1, 1),
    }),
    weights(column(3, 1, 1), { padded: height, size, count, kernel, wide: column(6, 1, 1), from: column(8, 1, 1) }),
  ];
  const pixels = crops.to({ dtype: kernel.dtype }).reshape(n, height * 3, width);
  const narrow = kernel.rounded(pixels.bmm(across.transpose(1, 2)), 2);
  const made = kernel.rounded(down.bmm(narrow.reshape(n, height, 3 * size)), 1).to({ dtype: "float32" }); // [n, size, 3 · size]
  return made.reshape(n, size, 3, size).permute([0, 2, 1, 3]).contiguous();
}

/** The weights of a filter, and a representation of weights and sums in which each of them is exact. */
interface Kernel {
  /** The radius of the filter in pixels at a scale of 1. */
  readonly support: number;
  readonly at: (distance: Tensor) => Tensor;
  readonly dtype: "float32" | "float64";
  /**
   * Weights in PIL's 22-bit fixed point as integers, float64 [n, size, padded], in the form used for multiplication.
   */
  readonly stored: (fixed: Tensor) => Tensor;
  /** Rounds sums of products with these weights to integer pixel values. `dim` is the dimension of the weights. */
  readonly rounded: (sums: Tensor, dim: number) => Tensor;
}

/**
 * Bilinear. The upper 11 bits of every weight, then the lower 11, [n, 2 · size, padded], so that every product and sum
 * is an integer that float32 and tensor cores with 11 bits (TF32) represent exactly. See `Filter` in
 * native/src/resample.cc.
 */
const TRIANGLE: Kernel = {
  support: 1,
  at: (distance) => distance.neg().add_(1).clamp_(0),
  dtype: "float32",
  stored(fixed) {
    const upper = fixed.div(2 ** 11).floor_();
    return cat([upper, fixed.sub_(upper.mul(2 ** 11))], 1).to({ dtype: "float32" });
  },
  rounded(sums, dim) {
    const [upper, lower] = sums.split(sums.size(dim) / 2, dim);
    const carried = lower.div(2 ** 11).floor_(); // the remainder is too small to affect the floor below
    return carried
      .add_(upper)
      .add_(2 ** 10)
      .div_(2 ** 11)
      .floor_();
  },
};

/**
 * Bicubic: Keys' kernel with a = -0.5. Weights can be negative and exceed 1, so float64 is needed to represent them
 * exactly.
 */
const CUBIC: Kernel = {
  support: 2,
  at(distance) {
    const near = distance.mul(1.5).sub_(2.5).mul_(distance).mul_(distance).add_(1);
    const far = distance.sub(5).mul_(distance).add_(8).mul_(distance).sub_(4).mul_(-0.5);
    const isNear = distance.lt(1).to({ dtype: "float64" });
    const isFar = distance.lt(2).to({ dtype: "float64" }).sub_(isNear);
    return near.mul_(isNear).add_(far.mul_(isFar));
  },
  dtype: "float64",
  stored: (fixed) => fixed,
  rounded: (sums) =>
    sums
      .add_(2 ** 21)
      .div_(2 ** 22)
      .floor_()
      .clamp_(0, 255),
};

interface WeightsOptions {
  /** The length that all samples are padded to, and the length of the result. */
  readonly padded: number;
  readonly size: number;
  readonly count: (to: number) => Tensor;
  readonly kernel: Kernel;
  /** The size that each `length` is resized to, and the start of the result in it. */
  readonly wide: Tensor;
  readonly from: Tensor;
  readonly flip?: Tensor;
}

/** The weights for the `length` of each sample. */
function weights(length: Tensor, { padded, size, count, kernel, wide, from, flip }: WeightsOptions): Tensor {
  const scale = length.div(wide);
  const stretch = scale.clamp(1);
  const target = count(size).reshape(1, size, 1);
  const place = flip ? target.add(flip.mul(target.mul(-2).add(size - 1))) : target;
  const centre = place.add(from).add_(0.5).mul(scale);
  const source = count(padded).reshape(1, 1, padded);
  const nearness = kernel.at(source.add(0.5).sub(centre).div_(stretch).abs());
  const inside = nearness.mul_(source.lt(length).to({ dtype: "float64" }));
  const shares = inside.div_(inside.sum(2, true)).mul_(2 ** 22);
  const fixed = shares.abs().add_(0.5).floor_().mul_(shares.sign()); // a half is rounded away from zero
  return kernel.stored(fixed);
}
