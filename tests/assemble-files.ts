/** Weight files put together by hand, byte by byte after their specifications, for what no library would write. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";

/** A folder for one test file, gone afterwards; gives the path of a new file with these bytes. */
export function temporaryFiles(): (bytes: Uint8Array | string, name?: string) => string {
  const folder = mkdtempSync(join(tmpdir(), "nudge-files-"));
  afterAll(() => rmSync(folder, { recursive: true }));
  let count = 0;
  return (bytes, name = `file-${count++}`) => {
    const path = join(folder, name);
    writeFileSync(path, bytes);
    return path;
  };
}

/** A safetensors file of this header text and data. */
export function safetensors(header: string | object, data: Uint8Array | number = 0): Buffer {
  const text = Buffer.from(typeof header === "string" ? header : JSON.stringify(header));
  const bytes = typeof data === "number" ? Buffer.alloc(data) : data;
  return Buffer.concat([uint(8, text.length), text, bytes]);
}

/** An unsigned little-endian integer of 1 to 8 bytes. */
export function uint(width: 1 | 2 | 4 | 8, value: number | bigint): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(value));
  return bytes.subarray(0, width);
}

export interface ZipOptions {
  readonly method?: number;
  readonly flags?: number;
  /** Lengths and offsets in the zip64 fields, with 0xffffffff where they would be otherwise. */
  readonly zip64?: boolean;
  readonly comment?: string;
  /** Name in the entries' own headers, when it is to differ from the directory's. */
  readonly localName?: string;
}

/** A zip archive of uncompressed entries. */
export function zip(entries: readonly (readonly [string, Uint8Array])[], options: ZipOptions = {}): Buffer {
  const { method = 0, flags = 0, zip64 = false, comment = "", localName } = options;
  const local: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const [name, bytes] of entries) {
    const common = [uint(2, 45), uint(2, flags), uint(2, method), uint(4, 0), uint(4, 0)];
    const ownName = Buffer.from(localName ?? name);
    const padding = Buffer.from("FB\x02\x00ZZ"); // torch pads entries to an alignment with such a field
    const header = Buffer.concat([
      ...[Buffer.from("PK\x03\x04"), ...common, uint(4, bytes.length), uint(4, bytes.length)],
      ...[uint(2, ownName.length), uint(2, padding.length), ownName, padding],
    ]);
    local.push(header, Buffer.from(bytes));
    const field = zip64 ? [uint(8, bytes.length), uint(8, bytes.length), uint(8, offset)] : [];
    const extra = zip64
      ? Buffer.concat([uint(2, 0x7777), uint(2, 1), uint(1, 9), uint(2, 1), uint(2, 24), ...field])
      : padding;
    const length = zip64 ? 0xffffffff : bytes.length;
    directory.push(
      ...[Buffer.from("PK\x01\x02"), uint(2, 45), ...common, uint(4, length), uint(4, length)],
      ...[uint(2, Buffer.byteLength(name)), uint(2, extra.length), uint(2, 0), uint(2, 0), uint(2, 0), uint(4, 0)],
      ...[uint(4, zip64 ? 0xffffffff : offset), Buffer.from(name), extra],
    );
    offset += header.length + bytes.length;
  }
  const index = Buffer.concat(directory);
  const end64 = [Buffer.from("PK\x06\x06"), uint(8, 44), uint(2, 45), uint(2, 45), uint(4, 0), uint(4, 0)];
  const locator = [Buffer.from("PK\x06\x07"), uint(4, 0), uint(8, offset + index.length), uint(4, 1)];
  const counts = [uint(8, entries.length), uint(8, entries.length), uint(8, index.length), uint(8, offset)];
  return Buffer.concat([
    ...[...local, index, ...(zip64 ? [...end64, ...counts, ...locator] : [])],
    ...[Buffer.from("PK\x05\x06"), uint(4, 0), uint(2, zip64 ? 0xffff : entries.length)],
    ...[uint(2, zip64 ? 0xffff : entries.length), uint(4, zip64 ? 0xffffffff : index.length)],
    ...[uint(4, zip64 ? 0xffffffff : offset), uint(2, comment.length), Buffer.from(comment)],
  ]);
}

type Piece = Uint8Array | string;

/** Pieces of a pickle, in protocol 2 as torch writes it; a string is taken byte for byte. */
export function concat(...pieces: readonly Piece[]): Buffer {
  return Buffer.concat(pieces.map((piece) => (typeof piece === "string" ? Buffer.from(piece, "latin1") : piece)));
}

/** A whole pickle. */
export const pickle = (...pieces: readonly Piece[]): Buffer => concat("\x80\x02", ...pieces, ".");
export const text = (value: string): Buffer => concat("X", uint(4, Buffer.byteLength(value)), Buffer.from(value));
export const int = (value: number): Buffer => concat("J", uint(4, value >>> 0));
export const tuple = (...items: readonly Piece[]): Buffer => concat("(", ...items, "t");
export const list = (...items: readonly Piece[]): Buffer => concat("](", ...items, "e");
export const global = (module: string, name: string): Buffer => concat(`c${module}\n${name}\n`);
/** A call of a global: `callable(*args)`. */
export const call = (callable: Piece, ...args: readonly Piece[]): Buffer => concat(callable, tuple(...args), "R");
export const dict = (items: Readonly<Record<string, Piece>>): Buffer =>
  concat("}(", ...Object.entries(items).flatMap(([key, value]) => [text(key), value]), "u");

/** A storage of `length` elements under `key`. */
export function storage(
  key: string,
  length: Piece,
  { type = "FloatStorage", module = "torch", location = "cpu" } = {},
) {
  return concat(tuple(text("storage"), global(module, type), text(key), text(location), length), "Q");
}

/** A tensor that looks at a storage. */
export function tensor(from: Piece, shape: readonly number[], strides: readonly number[], offset = 0): Buffer {
  const sizes = [int(offset), tuple(...shape.map(int)), tuple(...strides.map(int))];
  return call(
    global("torch._utils", "_rebuild_tensor_v2"),
    from,
    ...sizes,
    "\x89",
    call(global("collections", "OrderedDict")),
  );
}

/** A `.pth` in the zip format: the pickle and the storages by their keys. */
export function zipPth(
  root: Piece,
  storages: Readonly<Record<string, Uint8Array>>,
  extra: Record<string, string> = {},
) {
  return zip([
    ["archive/data.pkl", pickle(root)],
    ...Object.entries(extra).map(([name, value]) => [`archive/${name}`, Buffer.from(value)] as const),
    ...Object.entries(storages).map(([key, bytes]) => [`archive/data/${key}`, bytes] as const),
    ["archive/version", Buffer.from("3\n")],
  ]);
}

export interface LegacyOptions {
  readonly magic?: Piece;
  readonly version?: number;
  readonly littleEndian?: boolean;
  /** The pickled list of keys, when it is to differ from those of the storages. */
  readonly keys?: Piece;
}

/** A `.pth` in the older format; a storage is its number of elements and its bytes. */
export function legacyPth(
  root: Piece,
  storages: Readonly<Record<string, readonly [length: number, bytes: Uint8Array]>>,
  options: LegacyOptions = {},
): Buffer {
  const { magic = "\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19", version = 1001, littleEndian = true } = options;
  return Buffer.concat([
    ...[pickle(magic), pickle(int(version)), pickle(dict({ little_endian: littleEndian ? "\x88" : "\x89" }))],
    ...[pickle(root), pickle(options.keys ?? list(...Object.keys(storages).map(text)))],
    ...Object.values(storages).flatMap(([length, bytes]) => [uint(8, length), bytes]),
  ]);
}
