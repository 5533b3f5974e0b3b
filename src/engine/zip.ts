/**
 * Locates the entries of a zip archive in its file, according to PKWARE's APPNOTE 6.3.10, including zip64 (Sections
 * 4.3.7, 4.3.12 to 4.3.16, 4.5.3). Nothing is decompressed here: PyTorch stores its entries uncompressed, so that their
 * bytes can be read in place. Checksums are checked by the code that unpacks archives (get-data/). For weights this
 * would mean reading all data twice, and PyTorch can be configured to write no checksums.
 */
import type { SourceFile } from "../files/file-bytes.js";
import { quoted } from "./stored-tensor.js";

/** An entry in the directory of the archive. */
export interface ZipEntry {
  readonly name: string;
  /** The offset of the entry's own header, which precedes its data. */
  readonly headerOffset: number;
  readonly byteLength: number;
  readonly storedLength: number;
  /** 0 means uncompressed, 8 means deflated. */
  readonly method: number;
  readonly encrypted: boolean;
  readonly crc32: number;
  /** Whether it is a symbolic link, which archives from Unix can contain. */
  readonly isLink: boolean;
}

/** The directory of a zip archive. */
export interface ZipArchive {
  readonly file: SourceFile;
  readonly entries: ReadonlyMap<string, ZipEntry>;
  /** The offset of the directory. All data is before it. */
  readonly directoryOffset: number;
}

const END_SIGNATURE = 0x06054b50;
const END_BYTES = 22;
const LONGEST_COMMENT = 0xffff;
const ZIP64_LOCATOR_SIGNATURE = 0x07064b50;
const ZIP64_LOCATOR_BYTES = 20;
const ZIP64_END_SIGNATURE = 0x06064b50;
const ZIP64_END_BYTES = 56;
const ENTRY_SIGNATURE = 0x02014b50;
const ENTRY_BYTES = 46;
const LOCAL_SIGNATURE = 0x04034b50;
const LOCAL_BYTES = 30;
const ZIP64_EXTRA = 0x0001;
/** This value in a 32-bit field means that the zip64 field contains the value. */
const IN_ZIP64 = 0xffffffff;

/**
 * This is enough for a few hundred thousand entries, far more than a state dict has, and small enough to keep in
 * memory.
 */
const LARGEST_DIRECTORY = 64 << 20;

/** Reads the directory of a zip archive. */
export function readZip(file: SourceFile): ZipArchive {
  const { count, length, offset } = findDirectory(file);
  if (length > LARGEST_DIRECTORY) {
    throw file.error(`the zip directory takes ${length} bytes; up to ${LARGEST_DIRECTORY} are read`);
  }
  const directory = file.read(offset, length, "the zip directory");
  const entries = new Map<string, ZipEntry>();
  let at = 0;
  for (let index = 0; index < count; index++) {
    const { entry, next } = readEntry(file, directory, at, index);
    if (entries.has(entry.name)) throw file.error(`the zip entry ${quoted(entry.name)} appears twice`);
    entries.set(entry.name, entry);
    at = next;
  }
  return { file, entries, directoryOffset: offset };
}

/** Returns the byte range of an entry's data, which must be uncompressed. */
export function locateZipEntry(archive: ZipArchive, entry: ZipEntry): { offset: number; byteLength: number } {
  const { file } = archive;
  const what = `the zip entry ${quoted(entry.name)}`;
  if (entry.encrypted) throw file.error(`${what} is encrypted; only plain entries are read`);
  if (entry.method !== 0) {
    const how = entry.method === 8 ? "deflated" : `compressed by method ${entry.method}`;
    throw file.error(
      `${what} is ${how}; PyTorch stores its entries uncompressed and only such are read: unpack the archive and save ` +
        "it again with torch.save, or repack it with zip -0",
    );
  }
  if (entry.byteLength !== entry.storedLength) throw file.error(`${what} is uncompressed but gives two lengths`);
  return { offset: storedDataOffset(archive, entry), byteLength: entry.byteLength };
}

/**
 * Returns the offset of an entry's data, compressed or not. It follows the entry's own header, which must match the
 * directory.
 */
export function storedDataOffset({ file, directoryOffset }: ZipArchive, entry: ZipEntry): number {
  const what = `the zip entry ${quoted(entry.name)}`;
  const header = file.read(entry.headerOffset, LOCAL_BYTES, `the header of ${what}`);
  if (header.readUInt32LE(0) !== LOCAL_SIGNATURE) throw file.error(`${what} does not begin where the directory says`);
  const nameLength = header.readUInt16LE(26);
  const name = file.read(entry.headerOffset + LOCAL_BYTES, nameLength, `the name of ${what}`);
  if (!name.equals(Buffer.from(entry.name))) throw file.error(`${what} has another name in its own header`);
  const offset = entry.headerOffset + LOCAL_BYTES + nameLength + header.readUInt16LE(28);
  if (offset + entry.storedLength > directoryOffset) throw file.error(`${what} reaches past the archive's data`);
  return offset;
}

interface Directory {
  readonly count: number;
  readonly length: number;
  readonly offset: number;
}

function findDirectory(file: SourceFile): Directory {
  const tailOffset = Math.max(0, file.size - END_BYTES - LONGEST_COMMENT);
  const tail = file.read(tailOffset, file.size - tailOffset, "the end of the zip archive");
  for (let at = tail.length - END_BYTES; at >= 0; at--) {
    if (tail.readUInt32LE(at) !== END_SIGNATURE) continue;
    // The comment must end at the end of the file. Otherwise these four bytes only look like the record.
    if (at + END_BYTES + tail.readUInt16LE(at + 20) !== tail.length) continue;
    const end = tailOffset + at;
    const directory = findZip64Directory(file, end) ?? {
      count: tail.readUInt16LE(at + 10),
      length: tail.readUInt32LE(at + 12),
      offset: tail.readUInt32LE(at + 16),
    };
    if (directory.offset + directory.length > end) throw file.error("the zip directory reaches past its end record");
    return directory;
  }
  throw file.error("a zip archive without its directory, which stands at the end: is the download complete?");
}

/** Returns the directory from the zip64 end record, which PyTorch always writes, or undefined if there is none. */
function findZip64Directory(file: SourceFile, end: number): Directory | undefined {
  if (end < ZIP64_LOCATOR_BYTES) return undefined;
  const locator = file.read(end - ZIP64_LOCATOR_BYTES, ZIP64_LOCATOR_BYTES, "the zip64 locator");
  if (locator.readUInt32LE(0) !== ZIP64_LOCATOR_SIGNATURE) return undefined;
  const record = file.read(uint64(file, locator, 8), ZIP64_END_BYTES, "the zip64 end record");
  if (record.readUInt32LE(0) !== ZIP64_END_SIGNATURE)
    throw file.error("the zip64 end record is not where it should be");
  return { count: uint64(file, record, 32), length: uint64(file, record, 40), offset: uint64(file, record, 48) };
}

function readEntry(file: SourceFile, directory: Buffer, at: number, index: number): { entry: ZipEntry; next: number } {
  const broken = () => file.error(`the zip directory is broken at its entry ${index}`);
  if (at + ENTRY_BYTES > directory.length || directory.readUInt32LE(at) !== ENTRY_SIGNATURE) throw broken();
  const extraAt = at + ENTRY_BYTES + directory.readUInt16LE(at + 28);
  const commentAt = extraAt + directory.readUInt16LE(at + 30);
  const next = commentAt + directory.readUInt16LE(at + 32);
  if (next > directory.length) throw broken();

  const nameBytes = directory.subarray(at + ENTRY_BYTES, extraAt);
  const name = nameBytes.toString("utf8");
  if (!nameBytes.equals(Buffer.from(name))) throw file.error(`the name of the zip entry ${index} is not valid UTF-8`);

  // The zip64 field contains only the values that did not fit into their own fields, in this order.
  const zip64 = zip64Field(directory.subarray(extraAt, commentAt));
  let zip64At = 0;
  const value = (fieldAt: number): number => {
    const short = directory.readUInt32LE(fieldAt);
    if (short !== IN_ZIP64) return short;
    if (zip64 === undefined || zip64At + 8 > zip64.length) throw broken();
    zip64At += 8;
    return uint64(file, zip64, zip64At - 8);
  };
  const byteLength = value(at + 24);
  const storedLength = value(at + 20);
  const headerOffset = value(at + 42);
  const encrypted = (directory.readUInt16LE(at + 8) & 1) !== 0;
  const method = directory.readUInt16LE(at + 10);
  const crc32 = directory.readUInt32LE(at + 16);
  const isLink = directory.readUInt32LE(at + 38) >>> 28 === 0o12; // the file type in the upper half of the Unix mode
  return { entry: { name, headerOffset, byteLength, storedLength, method, encrypted, crc32, isLink }, next };
}

function zip64Field(extra: Buffer): Buffer | undefined {
  for (let at = 0; at + 4 <= extra.length; ) {
    const next = at + 4 + extra.readUInt16LE(at + 2);
    if (extra.readUInt16LE(at) === ZIP64_EXTRA) return extra.subarray(at + 4, next);
    at = next;
  }
  return undefined;
}

function uint64(file: SourceFile, bytes: Buffer, at: number): number {
  const value = bytes.readBigUInt64LE(at);
  if (value > Number.MAX_SAFE_INTEGER) throw file.error(`a zip length of ${value} is beyond every file`);
  return Number(value);
}
