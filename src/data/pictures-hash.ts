/**
 * A fingerprint of pictures of one's own, which no published counts pin down: it changes when one is added, taken away,
 * replaced or given another label, so that the runs from before and after are two. It is of labels, file sizes and some of the
 * bytes in order, not of names: the folder may be moved, and files may be renamed where that leaves their order.
 */

import { createHash } from "node:crypto";
import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { resolve } from "node:path";
import type { PictureDataset } from "./dataset.js";

/**
 * So many pieces of a file, spread from its first byte to its last, of so many bytes each. Sizes alone tell JPEG files apart,
 * but those of plain TIFF or BMP pictures are all the same; and their first and last rows may be a black border.
 */
const PIECES = 4;
const PIECE = 1024;

/** 16 hexadecimal digits of it. */
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

/** A file's size and the bytes that stand for it; an unreadable file, which training skips and reports, has none. */
function lookInto(path: string, buffer: Uint8Array): { size: number; bytes: Uint8Array } {
  let file: number | undefined;
  try {
    file = openSync(path, "r");
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
