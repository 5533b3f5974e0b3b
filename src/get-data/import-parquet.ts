/**
 * Imports pictures from parquet files, the format of Hugging Face datasets, into folders `domain/class/picture`. One
 * row group is in memory at a time. A row whose picture is missing or broken is skipped and reported. If it is run
 * again, it writes only missing files.
 */
import { renameSync, statSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { asyncBufferFromFile, type FileMetaData, parquetMetadataAsync, parquetReadObjects } from "hyparquet";
import { compressors } from "hyparquet-compressors";
import { bytesInMemory } from "../data/picture-header/tiff-tags.js";
import { formatOfName, type PictureFormat, readPictureHeader } from "../data/picture-header.js";
import { showName } from "../data/show-name.js";
import { DataError, UsageError } from "../errors.js";
import { makeFolder } from "../files/make-folder.js";
import { type ColumnNames, type PictureColumns, pictureColumns } from "./parquet-columns.js";

export interface ImportOptions {
  /** The columns that the user named. The others are detected. */
  readonly columns?: Partial<ColumnNames>;
  /** Receives the columns that are used, before anything is written. */
  onColumns?(columns: ColumnNames): void;
  onProgress?(done: number, total: number): void;
}

export interface SkippedRow {
  readonly file: string;
  readonly row: number;
  readonly why: string;
}

export interface Imported {
  readonly pictures: number;
  readonly skipped: readonly SkippedRow[];
  readonly columns: ColumnNames;
}

const EXTENSIONS: Readonly<Record<PictureFormat, string>> = {
  JPEG: "jpg",
  PNG: "png",
  WebP: "webp",
  BMP: "bmp",
  TIFF: "tif",
  GIF: "gif",
  PPM: "ppm",
  PGM: "pgm",
  AVIF: "avif",
  HEIC: "heic",
};

/** Writes the pictures of parquet files into a folder. */
export async function importParquet(
  files: readonly string[],
  folder: string,
  { columns: given = {}, onColumns, onProgress }: ImportOptions = {},
): Promise<Imported> {
  const opened = [];
  for (const file of files) opened.push(await openParquet(file, given));
  const [first] = opened;
  onColumns?.(first.columns);
  const total = opened.reduce((sum, { metadata }) => sum + Number(metadata.num_rows), 0);
  const taken = new Set<string>();
  const made = new Set<string>();
  const skipped: SkippedRow[] = [];
  let [pictures, done] = [0, 0];
  for (const [i, { file, metadata, columns }] of opened.entries()) {
    for await (const { number, row } of rowsOf(file, metadata, columns)) {
      const picture = pictureIn(row, columns);
      if ("why" in picture) skipped.push({ file, row: number, why: picture.why });
      else {
        const name = nameFor(picture, taken, `${i}-${number}`);
        const place = join(folder, picture.folder);
        if (!made.has(place)) makeFolder(place);
        made.add(place);
        writeOnce(place, name, picture.bytes);
        pictures++;
      }
      onProgress?.(++done, total);
    }
  }
  if (pictures === 0)
    throw new DataError(
      `${showName(files[0])}: none of its ${total} rows has a picture: ${skipped[0]?.why ?? "it is empty"}`,
    );
  const { image, label, domain } = first.columns;
  return { pictures, skipped, columns: { image, label, ...(domain !== undefined && { domain }) } };
}

interface OpenedParquet {
  readonly file: string;
  readonly metadata: FileMetaData;
  readonly columns: PictureColumns;
}

async function openParquet(file: string, given: Partial<ColumnNames>): Promise<OpenedParquet> {
  const where = `parquet file ${showName(file)}`;
  try {
    const metadata = await parquetMetadataAsync(await asyncBufferFromFile(file));
    return { file, metadata, columns: pictureColumns(where, metadata, given) };
  } catch (cause) {
    if (cause instanceof DataError || cause instanceof UsageError) throw cause;
    throw new DataError(`${where}: could not be read (${(cause as Error).message}): is the download complete?`, {
      cause,
    });
  }
}

type Row = Readonly<Record<string, unknown>>;

/** The rows of a file, with one row group in memory at a time. */
async function* rowsOf(
  path: string,
  metadata: FileMetaData,
  { image, label, domain }: PictureColumns,
): AsyncGenerator<{ number: number; row: Row }> {
  const file = await asyncBufferFromFile(path);
  const columns = [image, label, ...(domain === undefined ? [] : [domain])];
  let rowStart = 0;
  for (const group of metadata.row_groups) {
    const rowEnd = rowStart + Number(group.num_rows);
    const rows = await parquetReadObjects({
      file,
      metadata,
      columns,
      rowStart,
      rowEnd,
      compressors,
      utf8: false,
    }).catch((cause: Error) => {
      throw new DataError(
        `parquet file ${showName(path)}: rows ${rowStart} to ${rowEnd - 1} could not be read (${cause.message}): is the download complete?`,
        { cause },
      );
    });
    for (const [i, row] of rows.entries()) yield { number: rowStart + i, row };
    rowStart = rowEnd;
  }
}

interface Picture {
  readonly folder: string;
  /** The name in the file, if any. */
  readonly name: string;
  readonly extension: string;
  readonly bytes: Uint8Array;
}

/** The picture of a row and its domain and class, or the reason why it has none. */
function pictureIn(row: Row, { image, label, domain, valueNames }: PictureColumns): Picture | { readonly why: string } {
  const cell = row[image] as Uint8Array | { bytes?: Uint8Array | null; path?: unknown } | null | undefined;
  const bytes = cell instanceof Uint8Array ? cell : cell?.bytes;
  if (!bytes) return { why: `column "${image}" has no picture${cell ? ", only its path" : ""}` };
  const reading = readPictureHeader(bytesInMemory(bytes));
  if ("problem" in reading) return { why: reading.problem };
  const { format, truncated } = reading.header;
  if (truncated) return { why: `a ${format} that has been cut: its end is missing` };
  const places = [...(domain === undefined ? [] : [domain]), label].map((column) => ({
    column,
    value: valueName(row[column], valueNames[column]),
  }));
  const empty = places.find(({ value }) => value === "");
  if (empty) return { why: `column "${empty.column}" has no value` };
  const path = cell instanceof Uint8Array ? "" : String(cell?.path ?? "");
  return {
    folder: join(...places.map(({ value }) => folderName(value))),
    name: folderName(basename(path)),
    extension: EXTENSIONS[format],
    bytes,
  };
}

/** The name of a value: its text, or the name that the file defines for a number. */
function valueName(value: unknown, names: readonly string[] | undefined): string {
  if (value === null || value === undefined) return "";
  if (value instanceof Uint8Array) return Buffer.from(value).toString("utf8");
  const isNumber = typeof value === "number" || typeof value === "bigint";
  return (isNumber && names?.[Number(value)]) || String(value);
}

/** A text as a safe file or folder name that is not hidden. */
const folderName = (text: string): string =>
  text
    .replaceAll(/[/\\\p{Cc}]/gu, "_")
    .replace(/^\./, "_")
    .slice(0, 150);

/** The file name of a picture: its own if it is unused, otherwise with its index. */
function nameFor({ folder, name, extension }: Picture, taken: Set<string>, place: string): string {
  const own = formatOfName(name) ? name : name === "" ? `${place}.${extension}` : `${name}.${extension}`;
  const free = taken.has(`${folder}/${own.toLowerCase()}`) ? `${place}-${own}` : own;
  taken.add(`${folder}/${free.toLowerCase()}`);
  return free;
}

/** Writes a file under a temporary name and renames it. An existing file with the same length is kept. */
function writeOnce(folder: string, name: string, bytes: Uint8Array): void {
  const path = join(folder, name);
  if (statSync(path, { throwIfNoEntry: false })?.size === bytes.length) return;
  const beside = join(folder, `.${name}.part`);
  writeFileSync(beside, bytes);
  renameSync(beside, path);
}
