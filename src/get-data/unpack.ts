/**
 * Unpacks untrusted archives: zip, tar, and tar compressed with gzip. No file is written outside the folder, no link is
 * created, and an archive that expands far more than pictures do is refused. A file is written under a temporary name
 * and renamed, so unpacking can be interrupted and run again: complete files are not written twice.
 */
import { closeSync, createReadStream, openSync, readSync, renameSync, rmSync, statSync, writeSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { PassThrough, type Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { crc32, createInflateRaw } from "node:zlib";
import { Parser, type ReadEntry } from "tar";
import { showName } from "../data/show-name.js";
import { readZip, storedDataOffset, type ZipArchive, type ZipEntry } from "../engine/zip.js";
import { DataError } from "../errors.js";
import { byteText } from "../files/byte-text.js";
import { SourceFile } from "../files/file-bytes.js";
import { makeFolder } from "../files/make-folder.js";
import { openToRead } from "../files/open-file.js";

export interface UnpackOptions {
  onProgress?(files: number, bytes: number): void;
  /** The maximum number of unpacked bytes. */
  readonly mostBytes?: number;
  /** The maximum number of unpacked files. */
  readonly mostFiles?: number;
  /** Whether a file is needed, by its name in the archive. The default is all files. */
  wants?(name: string): boolean;
}

export interface Unpacked {
  readonly files: number;
  readonly bytes: number;
  /** Links, devices and other entries that are not files. They are skipped. */
  readonly skipped: number;
}

/** Pictures are already compressed, so an archive of them expands little. This much is allowed for any archive. */
const SMALL = 1e9;
const MOST_GROWTH = 50;
const MOST_FILES = 3_000_000;

/** Unpacks an archive into a folder. */
export async function unpack(archive: string, folder: string, options: UnpackOptions = {}): Promise<Unpacked> {
  const { size } = statSync(archive);
  const target = new Target(archive, folder, {
    mostBytes: Math.max(SMALL, MOST_GROWTH * size),
    mostFiles: MOST_FILES,
    ...options,
  });
  makeFolder(folder);
  const kind = archiveKind(archive);
  if (kind === "zip") await unpackZip(archive, target);
  else if (kind === "tar") await unpackTar(archive, target);
  else throw new DataError(`${showName(archive)}: expected a zip, tar or tar.gz archive, found ${kind}`);
  return { files: target.files, bytes: target.bytes, skipped: target.skipped };
}

/** The format of an archive, by its first bytes. */
export function archiveKind(path: string): "zip" | "tar" | "parquet" | string {
  const start = Buffer.alloc(512);
  const fd = openToRead(path);
  const length = readSync(fd, start, 0, start.length, 0);
  closeSync(fd);
  const text = start.toString("latin1", 0, length);
  if (text.startsWith("PK\x03\x04") || text.startsWith("PK\x05\x06")) return "zip";
  if (text.startsWith("\x1f\x8b") || text.slice(257, 262) === "ustar") return "tar";
  if (text.startsWith("PAR1")) return "parquet";
  if (/^\s*<(!doctype|html)/i.test(text)) return "a web page, as a download that needs a click or a login leaves";
  if (text.startsWith("Rar!")) return "a RAR archive: unpack it with another program, and pack it as zip or tar";
  if (text.startsWith("7z\xbc\xaf")) return "a 7z archive: unpack it with another program, and pack it as zip or tar";
  if (text.startsWith("BZh")) return "a bzip2 file: unpack it with bunzip2 first";
  if (text.startsWith("\xfd7zXZ")) return "an xz file: unpack it with unxz first";
  return length === 0 ? "an empty file" : "another kind of file";
}

/** System files in archives that are not data. */
const isLitter = (path: string): boolean => /(^|\/)(__MACOSX\/|\._|\.DS_Store$|Thumbs\.db$|desktop\.ini$)/i.test(path);

/** The destination folder, and the amount of data so far. */
class Target {
  files = 0;
  bytes = 0;
  skipped = 0;

  constructor(
    private readonly archive: string,
    private readonly folder: string,
    private readonly options: UnpackOptions & { mostBytes: number; mostFiles: number },
  ) {}

  /** The path of an entry, which is always inside the folder; undefined if the entry is not needed. */
  placeOf(name: string): string | undefined {
    const path = name.replaceAll("\\", "/").replace(/^(\.\/)+/, "");
    const parts = path.split("/").filter((part) => part !== "" && part !== ".");
    if (path.startsWith("/") || /^[a-z]:/i.test(path) || parts.includes("..") || path.includes("\0"))
      throw this.error(
        `its entry "${showName(name)}" would be written outside the folder, so nothing of it is trusted`,
      );
    if (isLitter(path) || parts.length === 0 || this.options.wants?.(parts.join("/")) === false) return undefined;
    return join(this.folder, ...parts);
  }

  /** Writes one file, unless it exists with its full length. */
  async write(place: string, length: number, content: () => Readable, checksum?: number): Promise<void> {
    this.files++;
    this.count(0);
    if (this.files > this.options.mostFiles) throw this.error(`it has more than ${this.options.mostFiles} files`);
    try {
      await this.writeEntry(place, length, content, checksum);
    } catch (error) {
      if (isOwn(error)) throw error;
      const why = (error as Error).message;
      throw this.error(
        `its entry "${showName(basename(place))}" is damaged (${why}): is the download complete?`,
        error,
      );
    }
  }

  private async writeEntry(
    place: string,
    length: number,
    content: () => Readable,
    checksum: number | undefined,
  ): Promise<void> {
    if (statSync(place, { throwIfNoEntry: false })?.size === length) return this.count(length);
    makeFolder(dirname(place));
    const beside = join(dirname(place), `.${basename(place)}.part`);
    const fd = openSync(beside, "w");
    let written = 0;
    let sum = 0;
    try {
      for await (const piece of content()) {
        const chunk = piece as Buffer;
        written += chunk.length;
        if (written > length) throw this.error(`its entry "${showName(basename(place))}" is longer than it says`);
        this.count(chunk.length);
        if (checksum !== undefined) sum = crc32(chunk, sum);
        for (let done = 0; done < chunk.length; ) done += writeSync(fd, chunk, done);
      }
      if (written !== length || (checksum !== undefined && sum !== checksum))
        throw this.error(`its entry "${showName(basename(place))}" is damaged: is the download complete?`);
    } catch (error) {
      rmSync(beside, { force: true });
      throw error;
    } finally {
      closeSync(fd);
    }
    renameSync(beside, place);
  }

  private count(bytes: number): void {
    this.bytes += bytes;
    const { mostBytes, onProgress } = this.options;
    if (this.bytes > mostBytes)
      throw this.error(`it unpacks to more than ${byteText(mostBytes)}, which no archive of pictures of its size does`);
    onProgress?.(this.files, this.bytes);
  }

  error(what: string, cause?: unknown): DataError {
    return new DataError(`unpacking ${showName(this.archive)}: ${what}`, { cause });
  }
}

async function unpackZip(path: string, target: Target): Promise<void> {
  const file = SourceFile.open(path);
  try {
    const archive = readZip(file);
    // All names are checked first, so that an archive that tries to leave the folder writes nothing.
    const wanted = [...archive.entries.values()].flatMap((entry) => {
      const place = target.placeOf(entry.name);
      if (entry.name.endsWith("/") || place === undefined) return [];
      if (!entry.isLink) return [{ entry, place }];
      target.skipped++;
      return [];
    });
    for (const { entry, place } of wanted) {
      if (entry.encrypted) throw target.error(`its entry "${showName(entry.name)}" is encrypted`);
      if (entry.method !== 0 && entry.method !== 8)
        throw target.error(
          `its entry "${showName(entry.name)}" is compressed by method ${entry.method}; expected deflate`,
        );
      await target.write(place, entry.byteLength, () => zipContent(archive, entry), entry.crc32);
    }
  } finally {
    file.close();
  }
}

/** The bytes of an entry of a zip file. */
function zipContent(archive: ZipArchive, entry: ZipEntry): Readable {
  if (entry.storedLength === 0) return new PassThrough().end();
  const start = storedDataOffset(archive, entry);
  const stored = createReadStream(archive.file.path, { start, end: start + entry.storedLength - 1 });
  if (entry.method === 0) return stored;
  const inflated = createInflateRaw();
  pipeline(stored, inflated).catch(() => {}); // the reader of `inflated` receives the error
  return inflated;
}

/** System errors for names that no valid archive has: a file where a folder should be, or a name that is too long. */
const OF_NAMES = ["ENOTDIR", "EISDIR", "EEXIST", "ENOTEMPTY", "ENAMETOOLONG", "EINVAL", "EILSEQ"];

/** An error of this file or the disk, and not of the archive reader or due to the names. */
const isOwn = (error: unknown): boolean =>
  error instanceof DataError ||
  (error instanceof Error && "syscall" in error && !OF_NAMES.includes((error as NodeJS.ErrnoException).code ?? ""));

async function unpackTar(path: string, target: Target): Promise<void> {
  let failed: unknown;
  let current: ReadEntry | undefined;
  let last: Promise<void> = Promise.resolve();
  const damaged = (cause: unknown): DataError =>
    target.error(`it is damaged (${(cause as Error).message}): is the download complete?`, cause);
  const take = async (entry: ReadEntry): Promise<void> => {
    try {
      if (failed !== undefined) return;
      const place = target.placeOf(entry.path);
      const isFile = ["File", "OldFile", "ContiguousFile"].includes(entry.type);
      if (isFile && place !== undefined) await target.write(place, entry.size, () => entry as unknown as Readable);
      else if (!isFile && !["Directory", "GNUDumpDir"].includes(entry.type)) target.skipped++;
    } catch (error) {
      if (failed !== undefined) return;
      failed = isOwn(error) ? error : damaged(error);
      parser.abort(error as Error);
    } finally {
      entry.resume(); // the next entry follows when this one has been read or skipped
    }
  };
  const parser = new Parser({
    strict: true, // a damaged header is an error
    maxDecompressionRatio: Number.POSITIVE_INFINITY, // the target counts the unpacked bytes
    onReadEntry(entry: ReadEntry) {
      current = entry;
      entry.on("error", () => {}); // its reader receives the error
      last = last.then(() => take(entry));
    },
  });
  parser.on("error", () => {}); // it may occur after the pipeline has ended; the first failure is thrown below
  try {
    await pipeline(createReadStream(path, { fd: openToRead(path) }), parser as unknown as NodeJS.WritableStream);
  } catch (cause) {
    failed ??= damaged(cause);
    current?.destroy(cause as Error); // it will not end
  }
  await last;
  if (failed !== undefined) throw failed;
}
