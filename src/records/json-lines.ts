/**
 * Files of JSON lines, such as records and result files. A killed process or a full disk may have left an incomplete
 * last line; it is dropped and reported, and earlier lines are not affected.
 */

import { DataError } from "../errors.js";
import { readText } from "../files/open-file.js";

/** A line that could be read. */
export interface JsonLine {
  /** From 1. */
  readonly number: number;
  /** The text in the file, without its newline. */
  readonly text: string;
  readonly value: unknown;
}

export interface JsonLines {
  readonly lines: readonly JsonLine[];
  /** Whether the file ends with an incomplete line. */
  readonly torn: boolean;
  /** The numbers of other lines that are not JSON, because the file was damaged otherwise. */
  readonly broken: readonly number[];
  /** Whether the last line has its newline, so that another can be appended. */
  readonly ended: boolean;
}

/**
 * Reads a file of JSON lines. Empty lines are skipped. `python` also accepts NaN and infinities, which Python's json
 * module writes.
 */
export function readJsonLines(path: string, options: { python?: boolean } = {}): JsonLines {
  let content: string;
  try {
    content = readText(path);
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
  // Only the text after the last newline can be an incomplete line. A complete one there only lacks its newline.
  const torn = broken.at(-1) === texts.length;
  return { lines, torn, broken: torn ? broken.slice(0, -1) : broken, ended: /(^|\n)$/.test(content.slice(-1)) };
}

/** A description of the lines that could not be read; empty if there are none. */
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

/** Marks a number that JSON cannot represent while the line is parsed by JSON.parse. */
const MARK = "\u0000number:";

/** JSON as Python writes it. Strings are matched too, so that a NaN inside a string is not changed. */
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
