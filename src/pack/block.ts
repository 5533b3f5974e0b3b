/**
 * The blocks of a packed study. A pack is a tar archive that is compressed in blocks of half a megabyte. Each block is
 * a complete gzip member, so any tool for `.tar.gz` reads the file. Each has an extra field in its gzip header, so it
 * can be checked, skipped and found without the other blocks. Layout, little-endian (docs/packs.md):
 *
 *     0   1f 8b 08 04 00 00 00 00 02 ff   gzip: deflate, with an extra field, no time, no system
 *     10  u16 24                          length of the extra field
 *     12  "NU", u16 20                    subfield and its length
 *     16  u16 version, u16 flags          1; bit 0: the last run continues in the next block
 *     20  u32 stored                      bytes of this block, including header and trailer
 *     24  u32 raw                         bytes after decompression
 *     28  u32 carried                     bytes at the start that continue an entry of an earlier block
 *     32  u32 check                       CRC-32 of the block with these four bytes as zeros
 *     36  deflate data, then gzip's u32 CRC-32 and u32 length of the decompressed bytes
 */

import { closeSync, fstatSync, readSync } from "node:fs";
import { crc32, deflateRawSync, inflateRawSync } from "node:zlib";
import { DataError } from "../errors.js";
import { openToRead } from "../files/open-file.js";

/** The version that is written. */
export const PACK_VERSION = 1;

/**
 * The maximum number of bytes of a block before compression. A file that claims more is refused before anything is
 * decompressed.
 */
export const MOST_RAW = 1 << 19;

const HEADER = 36;
const TRAILER = 8;

/** The maximum size of a block that cannot be compressed. */
const MOST_STORED = HEADER + MOST_RAW + (MOST_RAW >> 8) + 64 + TRAILER;

/** The first bytes of every block. */
const START = Buffer.from("1f8b08040000000002ff18004e551400", "hex");

const GOES_ON = 1;

/** A block to write. */
export interface NewBlock {
  readonly raw: Buffer;
  readonly carried: number;
  /** Whether the last run continues in the next block. */
  readonly goesOn: boolean;
}

/** The position of a block and the content of its header. */
export interface BlockPlace extends Omit<NewBlock, "raw"> {
  /** Counted from 1. */
  readonly number: number;
  readonly offset: number;
  readonly stored: number;
}

/** A part of the file that is not a valid block. */
export interface Damage {
  readonly number: number;
  readonly damaged: string;
}

/** Returns the bytes of a block. Equal content gives equal bytes. */
export function blockBytes({ raw, carried, goesOn }: NewBlock): Buffer {
  const deflated = deflateRawSync(raw, { level: 9, memLevel: 9 });
  const bytes = Buffer.alloc(HEADER + deflated.length + TRAILER);
  START.copy(bytes);
  bytes.writeUInt16LE(PACK_VERSION, 16);
  bytes.writeUInt16LE(goesOn ? GOES_ON : 0, 18);
  bytes.writeUInt32LE(bytes.length, 20);
  bytes.writeUInt32LE(raw.length, 24);
  bytes.writeUInt32LE(carried, 28);
  deflated.copy(bytes, HEADER);
  bytes.writeUInt32LE(crc32(raw), bytes.length - 8);
  bytes.writeUInt32LE(raw.length, bytes.length - 4);
  bytes.writeUInt32LE(crc32(bytes), 32);
  return bytes;
}

/** Whether a file starts with a block, or has one near its start if the first is damaged. */
export function isPack(path: string): boolean {
  return withFile(path, (fd) => readAt(fd, 0, MOST_STORED + START.length).includes(START));
}

/** Reads the content of a block whose position is known. */
export function readBlock(path: string, { number, offset, stored }: BlockPlace): Buffer {
  return withFile(path, (fd) => {
    const found = decompressed(readAt(fd, offset, stored), path);
    if (typeof found === "string") throw new DataError(`${path}: block ${number}: ${found}; was the file replaced?`);
    return found;
  });
}

/**
 * Reads the blocks of a pack in order, checks each, and yields its content. For a damaged block it yields the problem
 * and continues with the next.
 */
export function* readBlocks(path: string): Generator<{ place: BlockPlace; raw: Buffer } | Damage> {
  const fd = openToRead(path);
  try {
    const { size } = fstatSync(fd);
    for (let [offset, number] = [0, 1]; offset < size; number++) {
      const place = placeOf(readAt(fd, offset, HEADER), { number, offset, size });
      const raw = typeof place === "string" ? place : decompressed(readAt(fd, offset, place.stored), path);
      if (typeof place !== "string" && typeof raw !== "string") {
        yield { place, raw };
        offset += place.stored;
        continue;
      }
      yield { number, damaged: `block ${number}, at byte ${offset}, is damaged: ${raw}` };
      offset = nextStart(fd, offset + 1, size);
    }
  } finally {
    closeSync(fd);
  }
}

/** Parses a header; undefined if it is invalid. */
function placeOf(
  header: Buffer,
  { number, offset, size }: { number: number; offset: number; size: number },
): BlockPlace | string {
  if (header.length < HEADER) return "the file ends in its header";
  if (!header.subarray(0, START.length).equals(START)) return "it does not begin as a block does";
  const [stored, rawLength, carried] = [20, 24, 28].map((at) => header.readUInt32LE(at));
  if (stored < HEADER + TRAILER || stored > MOST_STORED || rawLength > MOST_RAW || carried > rawLength)
    return `it claims ${stored} bytes that decompress to ${rawLength}, of which ${carried} are carried over`;
  if (offset + stored > size) return `the file ends ${offset + stored - size} bytes too early`;
  return { number, offset, stored, carried, goesOn: (header.readUInt16LE(18) & GOES_ON) !== 0 };
}

/** The content of a block, or the problem with it. */
function decompressed(bytes: Buffer, path: string): Buffer | string {
  if (bytes.length < HEADER + TRAILER) return "it is cut short";
  const [version, rawLength, check] = [bytes.readUInt16LE(16), bytes.readUInt32LE(24), bytes.readUInt32LE(32)];
  bytes.writeUInt32LE(0, 32);
  if (crc32(bytes) !== check) return "its checksum does not match";
  if (version !== PACK_VERSION)
    throw new DataError(
      `${path}: a packed study of format ${version}, and this version of NUDGE reads format ${PACK_VERSION}. Update NUDGE`,
    );
  try {
    // One chunk, because the default chunks of 16 kB take twice the time. gzip's own checksum is not needed.
    const deflated = bytes.subarray(HEADER, -TRAILER);
    const raw = inflateRawSync(deflated, {
      chunkSize: Math.max(1024, rawLength),
      maxOutputLength: Math.max(1, rawLength),
    });
    return raw.length === rawLength ? raw : `it decompresses to ${raw.length} bytes and claims ${rawLength}`;
  } catch (cause) {
    return `it cannot be decompressed: ${(cause as Error).message}`;
  }
}

/** The start of the next block, or the end of the file. */
function nextStart(fd: number, from: number, size: number): number {
  const window = 1 << 20;
  for (let at = from; at < size; at += window - START.length + 1) {
    const found = readAt(fd, at, window).indexOf(START);
    if (found >= 0) return at + found;
  }
  return size;
}

function withFile<T>(path: string, use: (fd: number) => T): T {
  let fd: number;
  try {
    fd = openToRead(path);
  } catch (cause) {
    if (cause instanceof DataError) throw cause;
    throw new DataError(`${path}: the packed study could not be read: ${(cause as Error).message}`, { cause });
  }
  try {
    return use(fd);
  } finally {
    closeSync(fd);
  }
}

/** Reads bytes at a position, fewer at the end of the file. */
function readAt(fd: number, offset: number, count: number): Buffer {
  const bytes = Buffer.allocUnsafe(count);
  let done = 0;
  for (let read = -1; read !== 0 && done < count; done += read)
    read = readSync(fd, bytes, done, count - done, offset + done);
  return bytes.subarray(0, done);
}
