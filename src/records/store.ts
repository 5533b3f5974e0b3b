/**
 * The record file of a run. Rows are appended and never changed. An append is one write that is synced to disk; if it
 * fails it is undone, so a full disk fails the run but keeps earlier rows. A resumed run truncates the file to its
 * checkpoint and writes the rest again, to the same bytes.
 */

import { existsSync, statSync } from "node:fs";
import { DataError } from "../errors.js";
import { appendWhole } from "../files/append-file.js";
import { replaceFile } from "../files/replace-file.js";
import { type JsonLine, type JsonLines, notesOn, parseJsonLines, readJsonLines } from "./json-lines.js";
import { formatRecord, type RunRecord, toRecord } from "./record.js";

/** The records of a run, for writing. */
export class RecordStore {
  /** Bytes in the file after the last append. */
  private size: number | undefined;

  /**
   * `path` is created by the first append. An incomplete line of a killed process must be removed first (`cutRecords`).
   */
  constructor(readonly path: string) {}

  /** Appends rows, all or none. */
  append(records: readonly RunRecord[]): void {
    if (records.length === 0) return;
    const before = statSync(this.path, { throwIfNoEntry: false })?.size ?? 0;
    if (this.size !== undefined && before !== this.size)
      throw new DataError(
        `${this.path}: the file was ${before === 0 ? "deleted or emptied" : "changed"} while the run was writing it: it had ${this.size} bytes and has ${before} now. The run stops; put the file back and resume, or start the run again`,
      );
    const bytes = Buffer.from(records.map(formatRecord).join(""), "utf8");
    appendWhole(this.path, bytes, { what: `${records.length} records`, sync: true });
    this.size = before + bytes.length;
  }
}

export interface ReadRecords {
  readonly records: RunRecord[];
  /** Problems, as text. */
  readonly notes: string[];
}

/** Reads a record file; lines that are not records are skipped and reported. */
export function readRecords(path: string): ReadRecords {
  return toRecords(path, readJsonLines(path));
}

/** The records in the text of a file that was read. */
export function recordsIn(path: string, text: string): ReadRecords {
  return toRecords(path, parseJsonLines(text));
}

function toRecords(path: string, file: JsonLines): ReadRecords {
  const notes = notesOn(path, file);
  const records: RunRecord[] = [];
  const foreign: string[] = [];
  for (const { number, value } of file.lines) {
    const record = toRecord(value);
    if (typeof record === "string") foreign.push(`line ${number}: ${record}`);
    else records.push(record);
  }
  if (foreign.length > 0) {
    const more = foreign.length > 3 ? ` and ${foreign.length - 3} more` : "";
    notes.push(`${path}: skipped what is not a record: ${foreign.slice(0, 3).join("; ")}${more}`);
  }
  return { records, notes };
}

export interface Cut {
  /** The number of lines left in the file. */
  readonly kept: number;
  /** The number of complete lines after the step. */
  readonly dropped: number;
  /** Whether an incomplete last line was removed. */
  readonly torn: boolean;
}

/**
 * Truncates a record file to the rows of steps up to `step` (none: −1), in one rename. A missing file is empty. If the
 * number of rows is known (`most`), anything may follow them: a power failure leaves zeros in the data that was being
 * written.
 */
export function cutRecords(path: string, step: number, most = step < 0 ? 0 : Number.POSITIVE_INFINITY): Cut {
  if (!existsSync(path)) return { kept: 0, dropped: 0, torn: false };
  const file = readJsonLines(path);
  const candidates = file.lines.slice(0, most);
  const end = candidates.length < most ? Number.POSITIVE_INFINITY : (candidates.at(-1)?.number ?? 0);
  const steps = candidates.map((line) => stepOf(path, line));
  const broken = file.broken.find((number) => number <= end);
  if (broken !== undefined) throw damaged(path, `line ${broken} is not JSON`);
  const kept = candidates.filter((_, i) => steps[i] <= step);
  const dropped = file.lines.length - kept.length;
  if (dropped > 0 || file.broken.length > 0 || !file.ended) {
    replaceFile(path, (write) => write(Buffer.from(kept.map(({ text }) => `${text}\n`).join(""), "utf8")));
  }
  return { kept: kept.length, dropped, torn: file.torn };
}

function stepOf(path: string, { number, value }: JsonLine): number {
  const record = toRecord(value);
  if (typeof record === "string") throw damaged(path, `line ${number}: ${record}`);
  return record.step;
}

/** A report can do without some rows, but a resumed run would differ from an uninterrupted one. */
function damaged(path: string, what: string): DataError {
  return new DataError(
    `${path}: the run cannot be resumed: ${what}, so its records are not as it wrote them. Repair the line, or start the run again`,
  );
}
