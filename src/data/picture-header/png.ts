/** The header of a PNG file: its chunks up to the pixels (ISO/IEC 15948). */
import type { HeaderReading } from "../picture-header.js";
import { type ByteSource, exifOrientation, mostHeader } from "./tiff-tags.js";

/** The number of channels by PNG's color type. */
const colours = { 0: "grey", 2: "colour", 3: "palette", 4: "grey", 6: "colour" } as const;

/** The last chunk, with its length and checksum. */
const lastChunk = Buffer.from("0000000049454e44ae426082", "hex");

/** Whether the last chunk is present, at the end or before padding. */
function hasEnd(source: ByteSource): boolean {
  const tail = Buffer.from(source.bytes(Math.max(0, source.size - 4096), 4096));
  return tail.includes(lastChunk);
}

export function readPng(source: ByteSource): HeaderReading {
  const start = source.bytes(8, 25);
  if (start.length < 25) return { problem: "a PNG cut off before its size" };
  const view = new DataView(start.buffer, start.byteOffset, start.length);
  const type = start[17];
  if (String.fromCharCode(...start.subarray(4, 8)) !== "IHDR" || !Object.hasOwn(colours, type))
    return { problem: "a PNG with a broken header" };
  let alpha = type === 4 || type === 6;
  let orientation = 1;
  for (let at = 33; at < mostHeader; ) {
    const chunk = source.bytes(at, 8);
    if (chunk.length < 8) break;
    const length = new DataView(chunk.buffer, chunk.byteOffset, 8).getUint32(0);
    const name = String.fromCharCode(...chunk.subarray(4));
    if (name === "tRNS") alpha = true;
    if (name === "eXIf") orientation = exifOrientation(source.bytes(at + 8, length));
    if (name === "IDAT" || name === "IEND") break;
    at += 12 + length;
  }
  return {
    header: {
      format: "PNG",
      width: view.getUint32(8),
      height: view.getUint32(12),
      colours: colours[type as keyof typeof colours],
      alpha,
      bits: start[16],
      orientation,
      truncated: !hasEnd(source),
    },
  };
}
