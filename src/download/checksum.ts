/** The published facts of a file, and whether a copy agrees: its length, and its SHA-256 (or a prefix of it) or MD5. */
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { openToRead } from "../files/open-file.js";

export interface Expected {
  readonly bytes?: number;
  /** In hexadecimal. Publishers often state only the first eight digits. */
  readonly sha256?: string;
  readonly md5?: string;
}

export interface Measured {
  readonly bytes: number;
  readonly sha256: string;
  readonly md5: string;
}

/** Reads a file once and computes its length and hashes. */
export async function measureFile(path: string): Promise<Measured> {
  const sha256 = createHash("sha256");
  const md5 = createHash("md5");
  let bytes = 0;
  for await (const piece of createReadStream(path, { fd: openToRead(path), highWaterMark: 1 << 20 })) {
    const chunk = piece as Buffer;
    bytes += chunk.length;
    sha256.update(chunk);
    md5.update(chunk);
  }
  return { bytes, sha256: sha256.digest("hex"), md5: md5.digest("hex") };
}

/** How a file differs from what is expected, as text; undefined if it agrees. */
export function difference(found: Measured, expected: Expected): string | undefined {
  if (expected.bytes !== undefined && found.bytes !== expected.bytes)
    return `it has ${found.bytes} bytes, expected ${expected.bytes}`;
  for (const kind of ["sha256", "md5"] as const) {
    const wanted = expected[kind]?.toLowerCase();
    if (wanted === undefined || found[kind].startsWith(wanted)) continue;
    const name = kind === "md5" ? "MD5" : "SHA-256";
    return `its ${name} is ${found[kind]}, expected ${wanted}${wanted.length < found[kind].length ? "…" : ""}`;
  }
  return undefined;
}
