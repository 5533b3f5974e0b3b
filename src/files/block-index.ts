/**
 * The index of a store of blocks (content-store.ts). The first line describes the blocks; then there is one line per
 * file. Everything is validated when it is read, because the files may come from another machine.
 */

import { createHash } from "node:crypto";
import { statSync } from "node:fs";
import { canonicalJson } from "./canonical-json.js";
import { readText } from "./open-file.js";

/** The size and time of a file when it was read. */
export interface FileStamp {
  readonly bytes: number;
  /** Milliseconds. */
  readonly mtime: number;
}

/** The current stamp of a file, or an empty one if the file does not exist. */
export function stampOf(path: string): FileStamp {
  try {
    const stat = statSync(path, { throwIfNoEntry: false });
    return stat ? { bytes: stat.size, mtime: stat.mtimeMs } : GONE;
  } catch {
    return GONE;
  }
}

const GONE: FileStamp = { bytes: 0, mtime: 0 };

/** A hash of a file's bytes: 32 hexadecimal digits of the SHA-256. */
export const contentOf = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex").slice(0, 32);

/** The position of a block. */
export interface Block {
  readonly file: string;
  readonly offset: number;
  readonly length: number;
  readonly crc: number;
}

/** A file and its block, with additional facts. */
export type Stored<Facts> = FileStamp & { readonly path: string; readonly content: string } & Block & Facts;

/** A file without a block, because none could be made. It is not tried again until the file changes. */
export interface Failed extends FileStamp {
  readonly path: string;
  readonly problem: string;
}

export type StoreEntry<Facts> = Stored<Facts> | Failed;

export const isStored = <Facts>(entry: StoreEntry<Facts> | undefined): entry is Stored<Facts> =>
  entry !== undefined && !("problem" in entry);

/** The kind of blocks in an index. */
export interface IndexKind<Facts> {
  /** What the blocks are, and everything they depend on other than the file. Another value means other blocks. */
  readonly kind: Readonly<Record<string, unknown>>;
  /** Whether a line has the facts that belong to a block, and the block has the expected length. */
  isWhole(entry: Block & Partial<Facts>): boolean;
}

const FORMAT = "nudge blocks";
const VERSION = 1;

export const INDEX_NAME = /^index-[0-9a-f]{16}\.jsonl$/;
export const BLOCKS_NAME = /^blocks-[0-9a-f]{16}-[0-9a-f]{16}\.bin$/;

/**
 * The first line of an index for the files of a folder; without a folder, the part that all indexes of this kind share.
 */
export const headerOf = (kind: IndexKind<object>["kind"], root?: string): string =>
  canonicalJson({ format: FORMAT, version: VERSION, ...kind, root });

/** The lines of an index; undefined if it does not exist. */
export function readIndex<Facts>(
  path: string,
  { kind, isWhole }: IndexKind<Facts>,
): { entries: StoreEntry<Facts>[]; torn: boolean } | "other kind" | undefined {
  let text: string;
  try {
    text = readText(path, { links: false });
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw cause;
  }
  const lines = text.split("\n");
  const torn = lines.pop() !== "";
  if (lines.length === 0) return { entries: [], torn: true }; // the process was killed before the first line was complete
  const header = parse(lines[0]);
  if (header === undefined) return { entries: [], torn: true }; // lost in a power failure; the other lines are meaningless without it
  const { root: _, ...found } = header;
  if (canonicalJson(found) !== headerOf(kind)) return "other kind";
  const entries = lines.slice(1).flatMap((line) => {
    const entry = parse(line);
    return entry && isEntry(entry, isWhole) ? [entry] : []; // other invalid lines were truncated, and then more was appended
  });
  return { entries, torn };
}

type Line = Record<string, unknown>;

function isEntry<Facts>(line: Line, isWhole: IndexKind<Facts>["isWhole"]): line is Line & StoreEntry<Facts> {
  const { path, bytes, mtime, problem, content, file, offset, length, crc } = line;
  if (typeof path !== "string" || !isCount(bytes) || typeof mtime !== "number") return false;
  if (typeof problem === "string") return true;
  const isBlock =
    typeof file === "string" && BLOCKS_NAME.test(file) && isCount(offset) && isCount(length) && isCount(crc);
  return isBlock && typeof content === "string" && isWhole(line as unknown as Block & Partial<Facts>);
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0;

function parse(line: string): Line | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null ? (value as Line) : undefined;
  } catch {
    return undefined;
  }
}
