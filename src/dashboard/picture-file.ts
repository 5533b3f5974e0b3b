/**
 * A picture from disk for a browser, recognized by its first bytes and not by its name, so that no other file is
 * served.
 */

import { readBytes } from "../files/open-file.js";

/** Larger files are not shown on a page with many pictures. */
const MOST_BYTES = 32 << 20;

/** The formats that browsers show and that cannot contain programs. */
const kinds: readonly { readonly type: string; is(start: Buffer): boolean }[] = [
  { type: "image/jpeg", is: (start) => start.readUIntBE(0, 3) === 0xffd8ff },
  { type: "image/png", is: (start) => start.readUInt32BE(0) === 0x89504e47 },
  { type: "image/gif", is: (start) => start.toString("latin1", 0, 4) === "GIF8" },
  { type: "image/bmp", is: (start) => start.toString("latin1", 0, 2) === "BM" },
  { type: "image/webp", is: (start) => /^RIFF....WEBP/s.test(start.toString("latin1", 0, 12)) },
];

/** The bytes and type of the picture; undefined if a browser cannot show the file. */
export function readPicture(path: string): { type: string; bytes: Buffer } | undefined {
  try {
    const bytes = readBytes(path, { most: MOST_BYTES, links: false });
    const kind = bytes.length < 12 ? undefined : kinds.find(({ is }) => is(bytes));
    return kind && { type: kind.type, bytes };
  } catch {
    return undefined;
  }
}
