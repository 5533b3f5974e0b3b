/**
 * Decodes Windows bitmaps, which the prebuilt libvips cannot read: 1, 4, 8, 16, 24 and 32 bits per pixel, with a
 * palette, plain or with bit masks, bottom-up or top-down. Run-length encoded bitmaps, which are no longer in use, are
 * refused.
 */
import { type DecodedPicture, mostPixels } from "./decoded-picture.js";

const plain = 0;
const bitFields = 3;
const alphaBitFields = 6;

interface Header {
  readonly width: number;
  readonly height: number;
  readonly topDown: boolean;
  readonly bits: number;
  /** The masks of red, green and blue in a pixel of 16 or 32 bits. */
  readonly masks: readonly number[];
  /** Blue, green, red of each palette color. */
  readonly palette: Uint8Array;
  readonly paletteStride: number;
  readonly dataOffset: number;
}

/** Decodes the picture, or throws an error that describes the problem. */
export function readBmp(bytes: Uint8Array): DecodedPicture {
  const header = readHeader(bytes);
  const { width, height, topDown, bits, dataOffset } = header;
  const stride = Math.ceil((width * bits) / 32) * 4;
  const rows = Math.min(height, Math.max(0, Math.floor((bytes.length - dataOffset) / stride)));
  if (rows === 0) throw new Error("it ends before its first row"); // and the size may be anything
  const pixels = new Uint8Array(width * height * 3);
  const readRow = rowReader(header);
  for (let row = 0; row < rows; row++) {
    const start = dataOffset + row * stride;
    readRow(bytes.subarray(start, start + stride), pixels, (topDown ? row : height - 1 - row) * width * 3);
  }
  return { width, height, pixels, truncated: rows < height };
}

function readHeader(bytes: Uint8Array): Header {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (bytes.length < 26) throw new Error("the header is cut off");
  const size = view.getUint32(14, true);
  const old = size === 12;
  if ((!old && size < 40) || bytes.length < 14 + size) throw new Error("the header is cut off or of an unknown kind");
  const width = old ? view.getUint16(18, true) : view.getInt32(18, true);
  const signedHeight = old ? view.getInt16(20, true) : view.getInt32(22, true);
  const bits = view.getUint16(old ? 24 : 28, true);
  const compression = old ? plain : view.getUint32(30, true);
  const height = Math.abs(signedHeight);
  if (width < 1 || height < 1 || width * height > mostPixels)
    throw new Error(`it says it has ${width}×${height} pixels`);
  const masked = compression === bitFields || compression === alphaBitFields;
  if (compression !== plain && !masked)
    throw new Error("it is compressed, which this reader does not know: save it as PNG");
  if (![1, 4, 8, 16, 24, 32].includes(bits) || (masked && bits < 16))
    throw new Error(`it says it has ${bits} bits a pixel`);
  // The masks follow a header of 40 bytes or are part of a longer one, at the same position.
  const maskEnd = masked ? 66 : 0;
  if (bytes.length < maskEnd) throw new Error("the header is cut off");
  const masks = masked
    ? [54, 58, 62].map((at) => view.getUint32(at, true))
    : bits === 16
      ? [0x7c00, 0x3e0, 0x1f]
      : [0xff0000, 0xff00, 0xff];
  const paletteStart = 14 + size;
  const paletteStride = old ? 3 : 4;
  const given = old ? 0 : view.getUint32(46, true);
  const colours = bits > 8 ? 0 : Math.min(given || 2 ** bits, 2 ** bits);
  const palette = bytes.subarray(paletteStart, paletteStart + colours * paletteStride);
  return {
    width,
    height,
    topDown: signedHeight < 0,
    bits,
    masks,
    palette,
    paletteStride,
    dataOffset: view.getUint32(10, true),
  };
}

type RowReader = (row: Uint8Array, into: Uint8Array, at: number) => void;

function rowReader({ width, bits, masks, palette, paletteStride }: Header): RowReader {
  if (bits <= 8) {
    const perByte = 8 / bits;
    return (row, into, at) => {
      for (let x = 0; x < width; x++) {
        const shift = 8 - bits * ((x % perByte) + 1);
        const colour = ((row[Math.floor(x / perByte)] >> shift) & (2 ** bits - 1)) * paletteStride;
        for (let c = 0; c < 3; c++) into[at + x * 3 + c] = palette[colour + 2 - c] ?? 0;
      }
    };
  }
  if (bits === 24)
    return (row, into, at) => {
      for (let x = 0; x < width; x++) for (let c = 0; c < 3; c++) into[at + x * 3 + c] = row[x * 3 + 2 - c];
    };
  const channels = masks.map(channelOf);
  const step = bits / 8;
  return (row, into, at) => {
    for (let x = 0; x < width; x++) {
      const i = x * step;
      const word =
        bits === 16 ? row[i] | (row[i + 1] << 8) : row[i] | (row[i + 1] << 8) | (row[i + 2] << 16) | (row[i + 3] << 24);
      for (let c = 0; c < 3; c++) into[at + x * 3 + c] = channels[c](word);
    }
  };
}

/** Reads one channel of a pixel, scaled to 0 to 255. */
function channelOf(mask: number): (word: number) => number {
  if (mask === 0) return () => 0;
  const shift = 31 - Math.clz32(mask & -mask);
  const most = mask >>> shift;
  return (word) => Math.floor((((word & mask) >>> shift) * 255) / most);
}
