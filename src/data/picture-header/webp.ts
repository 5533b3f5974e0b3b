/** The header of a WebP file: a RIFF container (RFC 9649) with a lossy, a lossless or an extended first chunk. */
import type { HeaderReading, PictureHeader } from "../picture-header.js";
import { type ByteSource, exifOrientation } from "./tiff-tags.js";

/** The EXIF orientation, from its chunk. */
function findOrientation(source: ByteSource): number {
  for (let at = 12; at < source.size; ) {
    const chunk = source.bytes(at, 8);
    if (chunk.length < 8) break;
    const length = new DataView(chunk.buffer, chunk.byteOffset, 8).getUint32(4, true);
    if (String.fromCharCode(...chunk.subarray(0, 4)) === "EXIF") {
      const exif = source.bytes(at + 8, length);
      const prefixed = String.fromCharCode(...exif.subarray(0, 6)) === "Exif\0\0"; // some writers keep JPEG's prefix
      return exifOrientation(prefixed ? exif.subarray(6) : exif);
    }
    at += 8 + length + (length % 2);
  }
  return 1;
}

export function readWebp(source: ByteSource): HeaderReading {
  const start = source.bytes(0, 30);
  if (start.length < 30) return { problem: "a WebP cut off before its size" };
  const view = new DataView(start.buffer, start.byteOffset, start.length);
  const common = {
    format: "WebP",
    colours: "colour",
    bits: 8,
    orientation: 1,
    truncated: view.getUint32(4, true) + 8 > source.size,
  } as const satisfies Partial<PictureHeader>;
  const chunk = String.fromCharCode(...start.subarray(12, 16));
  if (chunk === "VP8 ") {
    const [width, height] = [view.getUint16(26, true) & 0x3fff, view.getUint16(28, true) & 0x3fff];
    return { header: { ...common, width, height, alpha: false } };
  }
  if (chunk === "VP8L") {
    const packed = view.getUint32(21, true);
    const [width, height] = [(packed & 0x3fff) + 1, ((packed >>> 14) & 0x3fff) + 1];
    return { header: { ...common, width, height, alpha: ((packed >>> 28) & 1) === 1 } };
  }
  if (chunk === "VP8X") {
    const flags = start[20];
    const width = (view.getUint32(24, true) & 0xffffff) + 1;
    const height = (view.getUint32(26, true) >>> 8) + 1;
    const orientation = flags & 8 ? findOrientation(source) : 1;
    return { header: { ...common, width, height, alpha: (flags & 16) !== 0, orientation } };
  }
  return { problem: "a WebP with a broken header" };
}
