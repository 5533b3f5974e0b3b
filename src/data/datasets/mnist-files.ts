/**
 * Reads the files of MNIST, plain or gzipped: `train-images-idx3-ubyte`, `train-labels-idx1-ubyte` and the same with
 * `t10k`, in the given folder or up to two levels below it (`MNIST/raw/`).
 *
 * An idx file is a big-endian header (two zero bytes, the type, the number of dimensions, each dimension) followed by
 * the bytes.
 */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { DataError } from "../../errors.js";
import { readBytes } from "../../files/open-file.js";
import { byCodePoint } from "../code-point-order.js";
import { showName } from "../show-name.js";

/** All digits, training digits first. */
export interface MnistDigits {
  /** The folder of the files. */
  readonly root: string;
  readonly count: number;
  readonly height: number;
  readonly width: number;
  /** One picture after the other, rows from the top, 0 (background) to 255 (ink). */
  readonly pixels: Uint8Array;
  readonly labels: Uint8Array;
}

/** A decompressed file larger than this is not MNIST. */
const mostBytes = 2 ** 29;

const stems = ["train-images", "train-labels", "t10k-images", "t10k-labels"] as const;

/** The existing files among the four, a plain one before a gzipped one. */
function filesIn(folder: string): (string | undefined)[] {
  const names = readdirSync(folder).sort(byCodePoint);
  return stems.map((stem) => {
    const pattern = new RegExp(`^${stem}[-.]idx[13]-ubyte(\\.gz)?$`, "i");
    return names.filter((name) => pattern.test(name)).sort((a, b) => a.length - b.length)[0];
  });
}

/** The folder with the files of MNIST at or below `root`, and their names; undefined if there is none. */
export function findMnist(root: string, levels = 2): { folder: string; files: (string | undefined)[] } | undefined {
  let files: (string | undefined)[];
  try {
    files = filesIn(root);
  } catch (cause) {
    throw new DataError(`looking for MNIST in ${showName(root)}: ${(cause as Error).message}`, { cause });
  }
  if (files.some((name) => name !== undefined)) return { folder: root, files };
  if (levels === 0) return undefined;
  const below = readdirSync(root, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  for (const name of below.map((entry) => entry.name).sort(byCodePoint)) {
    const found = findMnist(join(root, name), levels - 1);
    if (found) return found;
  }
  return undefined;
}

/** Reads an idx file of bytes with a given number of dimensions. */
export function readIdx(path: string, dimensions: number): { shape: number[]; data: Uint8Array } {
  let bytes: Buffer;
  try {
    bytes = readBytes(path);
    if (bytes[0] === 0x1f && bytes[1] === 0x8b) bytes = gunzipSync(bytes, { maxOutputLength: mostBytes });
  } catch (cause) {
    throw new DataError(`MNIST file ${showName(path)}: could not be read (${(cause as Error).message})`, { cause });
  }
  const header = 4 + 4 * dimensions;
  if (bytes.length < header || bytes.readUInt32BE(0) !== 0x800 + dimensions)
    throw new DataError(
      `MNIST file ${showName(path)}: expected an idx file of bytes in ${dimensions} dimension${dimensions === 1 ? "" : "s"} (beginning 00 00 08 0${dimensions}), got ${bytes.subarray(0, 4).toString("hex") || "an empty file"}`,
    );
  const shape = Array.from({ length: dimensions }, (_, i) => bytes.readUInt32BE(4 + 4 * i));
  const size = shape.reduce((product, each) => product * each, 1);
  if (bytes.length - header !== size)
    throw new DataError(
      `MNIST file ${showName(path)}: expected ${size} bytes after the header (${shape.join(" × ")}), got ${bytes.length - header}: download it again`,
    );
  return { shape, data: bytes.subarray(header) };
}

function readPart(folder: string, images: string, labels: string) {
  const pictures = readIdx(join(folder, images), 3);
  const digits = readIdx(join(folder, labels), 1);
  if (pictures.shape[0] !== digits.shape[0])
    throw new DataError(
      `MNIST in ${showName(folder)}: ${images} has ${pictures.shape[0]} pictures, ${labels} has ${digits.shape[0]} labels`,
    );
  const wrong = digits.data.findIndex((digit) => digit > 9);
  if (wrong >= 0)
    throw new DataError(
      `MNIST file ${showName(join(folder, labels))}: label ${wrong} is ${digits.data[wrong]}, not a digit`,
    );
  return { pictures, digits };
}

/** Reads all four files. Training digits come before test digits, as in the reference. */
export function readMnist(root: string): MnistDigits {
  const found = findMnist(root);
  const need = stems.map((stem) => `${stem}-idx${stem.endsWith("images") ? 3 : 1}-ubyte`);
  if (!found)
    throw new DataError(
      `MNIST: expected ${need.join(", ")} (optionally with .gz) in ${showName(root)}; found none of them`,
    );
  const { folder, files } = found;
  const missing = need.filter((_, i) => files[i] === undefined);
  if (missing.length > 0)
    throw new DataError(
      `MNIST: expected four files in ${showName(folder)}; ${missing.join(", ")} ${missing.length === 1 ? "is" : "are"} missing`,
    );
  const [trainImages, trainLabels, testImages, testLabels] = files as string[];
  const train = readPart(folder, trainImages, trainLabels);
  const test = readPart(folder, testImages, testLabels);
  const [, height, width] = train.pictures.shape;
  if (test.pictures.shape[1] !== height || test.pictures.shape[2] !== width)
    throw new DataError(`MNIST in ${showName(folder)}: the pictures of its two parts differ in size`);
  return {
    root: folder,
    count: train.pictures.shape[0] + test.pictures.shape[0],
    height,
    width,
    pixels: Buffer.concat([train.pictures.data, test.pictures.data]),
    labels: Buffer.concat([train.digits.data, test.digits.data]),
  };
}
