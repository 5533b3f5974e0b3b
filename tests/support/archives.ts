/** Archives made by hand, also such that no honest program would write. */

import { crc32, deflateRawSync, gzipSync } from "node:zlib";
import { uint } from "../assemble-files.js";

export interface ArchiveEntry {
  readonly name: string;
  readonly content?: Uint8Array | string;
  /** A symbolic link to this. */
  readonly link?: string;
  /** What the archive says of the content instead of the truth. */
  readonly length?: number;
  readonly checksum?: number;
}

/** A zip archive, deflated, with the modes of Unix. */
export function zipOf(entries: readonly ArchiveEntry[]): Buffer {
  const parts: Buffer[] = [];
  const directory: Buffer[] = [];
  let at = 0;
  for (const { name, link, content = link ?? "", length, checksum } of entries) {
    const bytes = Buffer.from(content);
    const stored = deflateRawSync(bytes);
    const facts = Buffer.concat([
      ...[uint(2, 20), uint(2, 0x800), uint(2, 8), uint(4, 0), uint(4, checksum ?? crc32(bytes))],
      ...[uint(4, stored.length), uint(4, length ?? bytes.length), uint(2, Buffer.byteLength(name)), uint(2, 0)],
    ]);
    const local = Buffer.concat([Buffer.from("PK\x03\x04"), facts, Buffer.from(name), stored]);
    const mode = link === undefined ? 0o100644 : 0o120777;
    directory.push(
      Buffer.concat([
        ...[Buffer.from("PK\x01\x02"), uint(2, 0x0314), facts, uint(2, 0), uint(2, 0), uint(2, 0)],
        ...[uint(4, (mode * 2 ** 16) >>> 0), uint(4, at), Buffer.from(name)],
      ]),
    );
    parts.push(local);
    at += local.length;
  }
  const index = Buffer.concat(directory);
  const end = [
    uint(4, 0),
    uint(2, entries.length),
    uint(2, entries.length),
    uint(4, index.length),
    uint(4, at),
    uint(2, 0),
  ];
  return Buffer.concat([...parts, index, Buffer.from("PK\x05\x06"), ...end]);
}

/** A tar archive in the ustar format. */
export function tarOf(entries: readonly (ArchiveEntry & { readonly kind?: string })[]): Buffer {
  const parts = entries.flatMap(({ name, link, content = "", length, kind = link === undefined ? "0" : "2" }) => {
    const bytes = Buffer.from(content);
    const header = Buffer.alloc(512);
    header.write(name, 0, 100);
    header.write("0000644\x000000000\x000000000\0", 100);
    header.write(`${(length ?? bytes.length).toString(8).padStart(11, "0")}\0`, 124);
    header.write("00000000000\0        ", 136);
    header.write(kind, 156);
    header.write(link ?? "", 157, 100);
    header.write("ustar\x0000", 257);
    const sum = header.reduce((total, byte) => total + byte, 0);
    header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
    return [header, bytes, Buffer.alloc((512 - (bytes.length % 512)) % 512)];
  });
  return Buffer.concat([...parts, Buffer.alloc(1024)]);
}

/** The same, compressed. */
export const tarGzOf = (...args: Parameters<typeof tarOf>): Buffer => gzipSync(tarOf(...args));
