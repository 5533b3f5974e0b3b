/**
 * A fingerprint of your own pictures, for which there are no published counts. It changes when a picture is added,
 * removed, replaced or gets another label, so that runs before and after are distinguished. It depends on labels, file
 * sizes and some of the bytes in order, but not on names: the folder can be moved, and files can be renamed if their
 * order stays the same.
 */

import { createHash } from "node:crypto";
import { closeSync, fstatSync, readSync } from "node:fs";
import { resolve } from "node:path";
import { openToRead } from "../files/open-file.js";
import type { PictureDataset } from "./dataset.js";

/**
 * The number of pieces of a file, spread from its first byte to its last, and the bytes of each. JPEG files differ in
 * size, but all TIFF or BMP pictures of one format have the same size, and their first and last rows may be a black
 * border.
 */
const PIECES = 4;
const PIECE = 1024;

/** Returns 16 hexadecimal digits. */
export function picturesHash({ root, domains }: Pick<PictureDataset, "root" | "domains">): string {
  const hash = createHash("sha256");
  const buffer = new Uint8Array(PIECES * PIECE);
  for (const { name, files, labels } of domains) {
    hash.update(`${JSON.stringify(name)}\n`);
    for (const [i, file] of files.entries()) {
      const { size, bytes } = lookInto(resolve(root, file), buffer);
      hash.update(`${labels[i]} ${size}\n`).update(bytes);
    }
  }
  return hash.digest("hex").slice(0, 16);
}

/** The size of a file and its sampled bytes; empty for an unreadable file, which training skips and reports. */
function lookInto(path: string, buffer: Uint8Array): { size: number; bytes: Uint8Array } {
  let file: number | undefined;
  try {
    file = openToRead(path);
    const { size } = fstatSync(file);
    if (size <= buffer.length) return { size, bytes: buffer.subarray(0, readSync(file, buffer, 0, size, 0)) };
    let read = 0;
    for (let i = 0; i < PIECES; i++)
      read += readSync(file, buffer, read, PIECE, Math.floor((i * (size - PIECE)) / (PIECES - 1)));
    return { size, bytes: buffer.subarray(0, read) };
  } catch {
    return { size: -1, bytes: buffer.subarray(0, 0) };
  } finally {
    if (file !== undefined) closeSync(file);
  }
}
