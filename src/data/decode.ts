/**
 * Decodes picture files to 8-bit RGB, off the main thread, with the same bytes as PIL's
 * `Image.open(path).convert("RGB")`: no EXIF rotation by default (except the orientation of a TIFF), no color profile,
 * alpha dropped without blending, CMYK by the simple formula, the first frame of a GIF.
 *
 * Two results differ from PIL, whose results are not useful there: 16-bit gray keeps its high byte (PIL makes almost
 * everything white), and transparent pixels of a GIF are black (PIL shows the hidden color).
 *
 * Ordinary JPEG and PNG files are decoded and scaled by the addon (native/src/jpeg.cc, png.cc, reduce.cc) if it is loaded, with the
 * same bytes in a quarter to a third of the time: for small pictures, sharp spends most of its time outside the decoder. Everything else
 * is decoded by sharp.
 *
 * A truncated file is decoded as far as possible and marked, as in the reference testbed. A picture whose short side is
 * longer than `shortSide` is scaled down to that: crops of at least 70 % still have 214 of the requested 224 pixels.
 */
import { availableParallelism } from "node:os";
import sharp, { type Sharp } from "sharp";
import { native } from "../engine/load.js";
import { keep } from "../engine/scope.js";
import { Tensor } from "../engine/tensor.js";
import { DataError } from "../errors.js";
import { MOST_PICTURE_BYTES, readBytesLater } from "../files/open-file.js";
import { decodeBytesOf, mostPixelsOf, SMALL_DECODE, withinBudget } from "./decode-memory.js";
import { type DecodedPicture, longestSide, mostPixels } from "./decoded-picture.js";
import { defaultShortSide } from "./default-short-side.js";
import type { Interpolation } from "./framing.js";
import { hasUnusualScan } from "./picture-header/jpeg.js";
import { bytesInMemory } from "./picture-header/tiff-tags.js";
import { type PictureHeader, readPictureHeader } from "./picture-header.js";
import { readBmp } from "./read-bmp.js";
import { readPnm } from "./read-pnm.js";
import { showName } from "./show-name.js";

export type { DecodedPicture } from "./decoded-picture.js";

// There are many small pictures, so each uses one thread, and nothing is cached.
sharp.concurrency(1);
sharp.cache(false);

/** Whether this build of sharp decodes HEIC. The npm build decodes only AVIF, because of HEVC's patents. */
export const readsHeic = sharp.format.heif?.input?.fileSuffix?.includes(".heic") ?? false;

/**
 * The number of pictures to decode at once, which depends on Node's thread pool (UV_THREADPOOL_SIZE: 4, or the value
 * set by bin/nudge.cjs) and the cores.
 */
export const decodersAtOnce = Math.min(availableParallelism() + 1, Number(process.env.UV_THREADPOOL_SIZE) || 4);

export { defaultShortSide } from "./default-short-side.js";

export interface DecodeOptions {
  /** Scale down pictures whose short side is longer; null keeps the original sizes (default: 256). */
  shortSide?: number | null;
  /** The filter that scales down, with antialias; the default is Lanczos'. */
  filter?: Interpolation;
  /** Turn a picture as its EXIF data asks, as a person sees it. */
  upright?: boolean;
  /** Report damaged data of a JPEG file. By default they are decoded as in PIL, without a report. */
  reportDamage?: boolean;
}

/** Reads and decodes a picture file. Throws a `DataError` with its path. */
export async function decodeFile(path: string, options: DecodeOptions = {}): Promise<DecodedPicture> {
  return (await decodeOrdinary(path, options)) ?? (await decodeOther(await readPicture(path), path, options));
}

/** The bytes of a picture file. Throws a `DataError` with its path if it cannot be read. */
export async function readPicture(path: string): Promise<Uint8Array> {
  try {
    return await readBytesLater(path, { most: MOST_PICTURE_BYTES });
  } catch (cause) {
    throw new DataError(`picture ${showName(path)}: could not be read (${(cause as Error).message})`, { cause });
  }
}

/** Decodes the bytes of a picture file. `path` is used in errors. */
export async function decodeBytes(
  bytes: Uint8Array,
  path: string,
  options: DecodeOptions = {},
): Promise<DecodedPicture> {
  const isCommon = bytes[0] === 0xff || bytes[0] === 0x89; // JPEG or PNG
  return (isCommon ? await decodeOrdinary(bytes, options) : null) ?? (await decodeOther(bytes, path, options));
}

/** Whether decoding a picture takes so much memory that it may have to wait for others. */
export function isLargeDecode(bytes: Uint8Array): boolean {
  const reading = readPictureHeader(bytesInMemory(bytes));
  return "header" in reading && decodeBytesOf(reading.header) >= SMALL_DECODE;
}

/** Pictures in one buffer, one after the other. */
export interface DecodedBatch {
  /** The pixels, uint8. Dispose of it. */
  readonly pixels: Tensor;
  /** The width and height of each picture. Both are 0 if it is not an ordinary one: `decodeFile` decodes it or says why not. */
  readonly sizes: Int32Array;
}

/**
 * Reads and decodes picture files with the addon, on all threads, into one buffer (in pinned memory for a copy to a GPU). Null if there
 * is no addon.
 */
export async function decodeBatch(
  paths: readonly string[],
  { pinned = false, ...options }: DecodeOptions & { pinned?: boolean } = {},
): Promise<DecodedBatch | null> {
  if (!native || paths.some((path) => path.includes("\0"))) return null;
  const decoded = await native.decodePictures(paths, decodersAtOnce, pinned, ...nativeOptions(options));
  return decoded && { pixels: keep(new Tensor(decoded.pixels)), sizes: decoded.sizes };
}

/**
 * Decodes an ordinary JPEG or PNG file, or its bytes, with the addon. Null for other files, and if the addon is not loaded.
 */
async function decodeOrdinary(picture: string | Uint8Array, options: DecodeOptions): Promise<DecodedPicture | null> {
  if (!native || picture.length === 0 || (typeof picture === "string" && picture.includes("\0"))) return null;
  const decoded = await native.decodePicture(picture, ...nativeOptions(options));
  const { shortSide = defaultShortSide, filter } = options;
  return decoded && scaleDown({ ...decoded, truncated: false }, { shortSide, filter });
}

/**
 * How many times as long as `shortSide` a JPEG's short side can be to be decoded in full and then scaled. From 2 on, sharp scales
 * while it decodes, which is faster and gives other bytes.
 */
const mostScaling = 1.9;

/** Ordinary files with more pixels are decoded by sharp, to the same bytes, within the budget of memory. */
const mostOrdinaryPixels = 2 ** 25;

/** The last arguments of the addon's decoders. */
function nativeOptions({ shortSide = defaultShortSide, filter, upright = false }: DecodeOptions) {
  const longest = shortSide === null ? 0 : Math.floor(shortSide * mostScaling);
  return [longest, upright, mostOrdinaryPixels, shortSide, kernelOf(filter)] as const;
}

/** Decodes all formats of sharp, and bitmaps. */
async function decodeOther(
  bytes: Uint8Array,
  path: string,
  { shortSide = defaultShortSide, filter, upright = false, reportDamage = false }: DecodeOptions,
): Promise<DecodedPicture> {
  const scaling = { shortSide, filter };
  try {
    // Only formats that are recognized by their content are decoded, whatever the file name.
    const reading = readPictureHeader(bytesInMemory(bytes));
    if ("problem" in reading) throw new Error(reading.problem);
    const { header } = reading;
    const { width, height } = header;
    const most = mostPixelsOf(header.format);
    if (width * height > most)
      throw new Error(
        `it has ${width} × ${height} pixels, and of ${/^[AH]/.test(header.format) ? "an" : "a"} ${header.format} at most ${most.toLocaleString("en-US")} are decoded`,
      );
    if (Math.max(width, height) > longestSide)
      throw new Error(`it has ${width} × ${height} pixels, and no side may be longer than ${longestSide}`);
    if (header.format === "HEIC" && !readsHeic)
      throw new Error(
        "it is HEIC, which this build of sharp cannot decode: convert it to JPEG or PNG, for instance with heif-convert",
      );
    return await withinBudget(header, async () => {
      if (header.format === "BMP") return await scaleDown(readBmp(bytes), scaling);
      if (header.format === "PPM" || header.format === "PGM") return await scaleDown(readPnm(bytes), scaling);
      return await decodeBySharp(bytes, header, { ...scaling, upright, reportDamage });
    });
  } catch (cause) {
    const why = (cause as Error).message.split("\n")[0];
    throw new DataError(`picture ${showName(path)}: could not be decoded: ${why}`, { cause });
  }
}

/** How a picture that is too large is scaled down. */
interface Scaling {
  readonly shortSide: number | null;
  readonly filter?: Interpolation;
}

/** A filter by sharp's name for it. */
const kernelOf = (filter: Interpolation | undefined): "lanczos3" | "linear" | "cubic" =>
  filter === undefined ? "lanczos3" : filter === "bicubic" ? "cubic" : "linear";

type Decoded = Omit<DecodedPicture, "truncated">;

/** What libjpeg says about damaged data. libvips has one message for all threads, so it is missing if another thread took it. */
const damagedData = /Corrupt JPEG data.*|Inconsistent progression sequence.*/;

/** Decodes strictly, and if that fails, as far as possible. */
async function decodeBySharp(
  bytes: Uint8Array,
  header: PictureHeader,
  { reportDamage, ...options }: Scaling & { upright: boolean; reportDamage: boolean },
): Promise<DecodedPicture> {
  const { truncated } = header;
  let found: { damage?: string } = {};
  if (reportDamage && header.format === "JPEG" && !hasUnusualScan(bytes))
    try {
      return { ...(await decodeOnce(bytes, header, options, "warning")), truncated };
    } catch (warning) {
      const [damage = "damaged JPEG data"] = (warning as Error).message.match(damagedData) ?? [];
      found = { damage };
    }
  try {
    return { ...(await decodeOnce(bytes, header, options, "truncated")), truncated, ...found };
  } catch {
    return { ...(await decodeOnce(bytes, header, options, "none")), truncated: true };
  }
}

async function decodeOnce(
  bytes: Uint8Array,
  header: PictureHeader,
  { upright, ...scaling }: Scaling & { upright: boolean },
  failOn: "warning" | "truncated" | "none",
): Promise<Decoded> {
  // PIL applies the orientation of a TIFF when it is loaded, and no other.
  const autoOrient = upright || header.format === "TIFF";
  const image = sharp(bytes, { failOn, ignoreIcc: true, limitInputPixels: mostPixels, autoOrient });
  if (header.colours === "CMYK") {
    image.pipelineColourspace("cmyk").toColourspace("cmyk");
    return scaleDown(fromCmyk(await toRaw(image)), scaling);
  }
  image.toColourspace("srgb").removeAlpha();
  // A JPEG may be scaled while it is decoded, which is faster; another format's alpha must not weigh in.
  const target =
    header.format === "JPEG" ? scaledSize(autoOrient ? asSeen(header) : header, scaling.shortSide) : undefined;
  if (target) image.resize({ ...target, fit: "fill", kernel: kernelOf(scaling.filter) });
  const picture = await toRaw(image);
  return target ? picture : scaleDown(picture, scaling);
}

/** The size after the rotation: EXIF orientations from 5 on swap width and height. */
const asSeen = ({ width, height, orientation }: PictureHeader): { width: number; height: number } =>
  orientation >= 5 ? { width: height, height: width } : { width, height };

async function toRaw(image: Sharp): Promise<Decoded> {
  const { data, info } = await image.raw({ depth: "uchar" }).toBuffer({ resolveWithObject: true });
  return { width: info.width, height: info.height, pixels: data };
}

/** The size after scaling down; undefined if the picture is small enough. */
export function scaledSize(
  { width, height }: { width: number; height: number },
  shortSide: number | null,
): { width: number; height: number } | undefined {
  if (shortSide === null || Math.min(width, height) <= shortSide) return undefined;
  const scale = shortSide / Math.min(width, height);
  return { width: Math.round(width * scale), height: Math.round(height * scale) };
}

/**
 * Scaled down where it is too large: by Lanczos' filter, after which a resize to 224 stays nearest to a resize in one go, or by
 * the filter of the resize that this stands for.
 */
async function scaleDown<T extends Decoded>(picture: T, { shortSide, filter }: Scaling): Promise<T> {
  const target = scaledSize(picture, shortSide);
  if (!target) return picture;
  const { width, height, pixels } = picture;
  const image = sharp(pixels, { raw: { width, height, channels: 3 }, limitInputPixels: mostPixels });
  return { ...picture, ...(await toRaw(image.resize({ ...target, fit: "fill", kernel: kernelOf(filter) }))) };
}

/** Converts CMYK to RGB like PIL: each channel is the light that its ink and black transmit. */
function fromCmyk({ width, height, pixels }: Decoded): Decoded {
  const rgb = new Uint8Array(width * height * 3);
  for (let i = 0, j = 0; i < pixels.length; i += 4) {
    const light = 255 - pixels[i + 3];
    for (let c = 0; c < 3; c++) {
      const product = pixels[i + c] * light + 128;
      rgb[j++] = light - ((product + (product >> 8)) >> 8);
    }
  }
  return { width, height, pixels: rgb };
}
