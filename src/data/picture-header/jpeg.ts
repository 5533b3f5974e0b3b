/** The header of a JPEG file: its segments up to the frame (ITU T.81), including the EXIF orientation. */
import type { HeaderReading } from "../picture-header.js";
import { type ByteSource, exifOrientation, mostHeader } from "./tiff-tags.js";

/** Markers of frames: C0 to CF except Huffman tables (C4), JPG (C8) and arithmetic conditioning (CC). */
const isFrame = (marker: number): boolean =>
  marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc;

/** The distance from the end of the file in which the end marker is searched. Some cameras add padding. */
const padding = 4096;

/** Whether the end marker is present. Decoders do not need it, but a truncated file has none. */
function hasEnd(source: ByteSource): boolean {
  const last = source.bytes(Math.max(0, source.size - 2), 2);
  if (last[0] === 0xff && last[1] === 0xd9) return true;
  const tail = source.bytes(Math.max(0, source.size - padding), padding);
  for (let i = tail.length - 2; i >= 0; i--) if (tail[i] === 0xff && tail[i + 1] === 0xd9) return true;
  return false;
}

export function readJpeg(source: ByteSource): HeaderReading {
  let orientation = 1;
  let at = 2;
  while (at < mostHeader) {
    const segment = source.bytes(at, 4);
    if (segment.length < 4) return { problem: "a JPEG cut off before its size" };
    if (segment[0] !== 0xff) return { problem: `a JPEG with a broken header at byte ${at}` };
    const marker = segment[1];
    if (marker === 0xff) {
      at++; // fill byte
      continue;
    }
    if (marker === 0xda || marker === 0xd9) return { problem: "a JPEG without a frame" };
    const length = (segment[2] << 8) | segment[3];
    if (isFrame(marker)) {
      const frame = source.bytes(at + 4, 6);
      if (frame.length < 6) return { problem: "a JPEG cut off before its size" };
      const channels = frame[5];
      return {
        header: {
          format: "JPEG",
          height: (frame[1] << 8) | frame[2],
          width: (frame[3] << 8) | frame[4],
          colours: channels === 1 ? "grey" : channels === 4 ? "CMYK" : "colour",
          alpha: false,
          bits: frame[0],
          orientation,
          truncated: !hasEnd(source),
        },
      };
    }
    if (marker === 0xe1) {
      const exif = source.bytes(at + 4, length - 2);
      if (String.fromCharCode(...exif.subarray(0, 6)) === "Exif\0\0") orientation = exifOrientation(exif.subarray(6));
    }
    at += 2 + Math.max(2, length);
  }
  return { problem: "a JPEG whose header does not end" };
}

/**
 * Whether the first scan of a sequential JPEG has a spectral selection other than 0 to 63. Some programs write such files. Decoders
 * ignore it, and libjpeg warns about it as it does about damaged data.
 */
export function hasUnusualScan(bytes: Uint8Array): boolean {
  let isSequential = false;
  for (let at = 2; at + 4 <= bytes.length && bytes[at] === 0xff; ) {
    const marker = bytes[at + 1];
    const next = marker === 0xff ? at + 1 : at + 2 + bytes[at + 2] * 256 + bytes[at + 3];
    if (marker === 0xc0 || marker === 0xc1) isSequential = true;
    if (marker === 0xda) return isSequential && bytes.subarray(next - 3, next).join() !== "0,63,0";
    at = next;
  }
  return false;
}
