/**
 * Files of JSON lines, as records and result files are. A process that was killed, or a disk that was full, may have
 * left half a line at the end; that half is dropped and reported, and never costs an earlier line.
 */

import { readFileSync } from "node:fs";
import { DataError } from "../errors.js";

/** A line that could be read. */
export interface JsonLine {
  /** From 1. */
  readonly number: number;
  /** As it stands in the file, without its newline. */
  readonly text: string;
  readonly value: unknown;
}

export interface JsonLines {
  readonly lines: readonly JsonLine[];
  /** Whether the file ends in half a line. */
  readonly torn: boolean;
  /** Numbers of the other lines that are not JSON: the file was damaged some other way. */
  readonly broken: readonly number[];
  /** Whether the last line has its newline, so that another can be appended. */
  readonly ended: boolean;
}

/**
 * Reads a file of JSON lines. Empty lines are passed over. `python` also takes what Python's json module writes: NaN
 * and infinities.
 */
export function readJsonLines(path: string, options: { python?: boolean } = {}): JsonLines {
  let content: string;
  try {
    content = readFileSync(path, "utf8");
  } catch (cause) {
    throw new DataError(`${path}: could not be read: ${(cause as Error).message}`, { cause });
  }
  return parseJsonLines(content, options);
}

/** The JSON lines in a text. */
export function parseJsonLines(content: string, { python = false } = {}): JsonLines {
  const texts = content.split("\n");
  const lines: JsonLine[] = [];
  const broken: number[] = [];
  texts.forEach((text, i) => {
    if (text.trim() === "") return;
    try {
      lines.push({ number: i + 1, text, value: python ? parsePython(text) : JSON.parse(text) });
    } catch {
      broken.push(i + 1);
    }
  });
  // Only what follows the last newline can be half a line; a whole one there just lacks its newline.
  const torn = broken.at(-1) === texts.length;
  return { lines, torn, broken: torn ? broken.slice(0, -1) : broken, ended: /(^|\n)$/.test(content.slice(-1)) };
}

/** Words for what could not be read of a file; none where all could. */
export function notesOn(path: string, { torn, broken }: JsonLines): string[] {
  const notes: string[] = [];
  if (torn) notes.push(`${path}: the last line is torn, as after a kill or on a full disk; it was dropped`);
  if (broken.length > 0) {
    const what = broken.length === 1 ? "1 line is not JSON and was" : `${broken.length} lines are not JSON and were`;
    const more = broken.length > 5 ? ", …" : "";
    notes.push(`${path}: ${what} skipped (line ${broken.slice(0, 5).join(", ")}${more})`);
  }
  return notes;
}

/** Marks a number that JSON cannot hold while the line goes through JSON.parse. */
const MARK = "\u0000number:";

/** JSON as Python writes it. Strings are matched too, so that a NaN inside one stays what it is. */
function parsePython(text: string): unknown {
  if (!/NaN|Infinity/.test(text)) return JSON.parse(text);
  const marked = text.replace(/"(?:[^"\\]|\\.)*"|-?Infinity|NaN/g, (found) =>
    found.startsWith('"') ? found : JSON.stringify(MARK + found),
  );
  return JSON.parse(marked, (_key, value) =>
    typeof value === "string" && value.startsWith(MARK) ? Number(value.slice(MARK.length)) : value,
  );
}

/** Whether a parsed value is a JSON object. */
export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
