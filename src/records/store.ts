/**
 * The record file of a run: rows are appended, never changed. An append is one write that reaches the disk before it
 * returns; one that fails is taken back, so a full disk fails the run and not its past. A run that is resumed cuts the
 * file back to its checkpoint and writes the rest again, to the same bytes.
 */

import { closeSync, existsSync, fstatSync, fsyncSync, ftruncateSync, openSync, writeSync } from "node:fs";
import { replaceFile } from "../engine/replace-file.js";
import { DataError } from "../errors.js";
import { type JsonLine, notesOn, readJsonLines } from "./json-lines.js";
import { formatRecord, type RunRecord, toRecord } from "./record.js";

/** A run's own records, for writing. */
export class RecordStore {
  /** `path` is made by the first append; half a line that a killed process left must be cut first (`cutRecords`). */
  constructor(readonly path: string) {}

  /** Adds rows, all or none. */
  append(records: readonly RunRecord[]): void {
    if (records.length === 0) return;
    const bytes = Buffer.from(records.map(formatRecord).join(""), "utf8");
    let fd: number | undefined;
    let before = 0;
    try {
      fd = openSync(this.path, "a");
      before = fstatSync(fd).size;
      for (let done = 0; done < bytes.length; ) done += writeSync(fd, bytes, done);
      fsyncSync(fd);
    } catch (cause) {
      if (fd !== undefined) takeBack(fd, before);
      const what = `${records.length} records could not be added: ${(cause as Error).message}`;
      throw new DataError(`${this.path}: ${what}. What was there before is untouched`, { cause });
    } finally {
      if (fd !== undefined) closeSync(fd);
    }
  }
}

/** Cutting needs no space, so it works on a full disk; where it does not, the next reader drops the half line. */
function takeBack(fd: number, size: number): void {
  try {
    ftruncateSync(fd, size);
  } catch {
    // The error that led here is the one to see.
  }
}

export interface ReadRecords {
  readonly records: RunRecord[];
  /** What could not be read, in words. */
  readonly notes: string[];
}

/** Reads a record file; lines that are no records are left out and told. */
export function readRecords(path: string): ReadRecords {
  const file = readJsonLines(path);
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
    notes.push(`${path}: left out what is no record: ${foreign.slice(0, 3).join("; ")}${more}`);
  }
  return { records, notes };
}

export interface Cut {
  /** Lines left in the file. */
  readonly kept: number;
  /** Whole lines that came after the step. */
  readonly dropped: number;
  /** Whether half a line at the end went too. */
  readonly torn: boolean;
}

/**
 * Cuts a record file back to the rows of steps up to `step` (none: −1), in one rename. A file that is not there is
 * empty.
 */
export function cutRecords(path: string, step: number): Cut {
  if (!existsSync(path)) return { kept: 0, dropped: 0, torn: false };
  const file = readJsonLines(path);
  const steps = file.lines.map((line) => stepOf(path, line));
  if (file.broken.length > 0) throw damaged(path, `line ${file.broken[0]} is not JSON`);
  const kept = file.lines.filter((_, i) => steps[i] <= step);
  const dropped = file.lines.length - kept.length;
  if (dropped > 0 || !file.ended) {
    replaceFile(path, (write) => write(Buffer.from(kept.map(({ text }) => `${text}\n`).join(""), "utf8")));
  }
  return { kept: kept.length, dropped, torn: file.torn };
}

function stepOf(path: string, { number, value }: JsonLine): number {
  const record = toRecord(value);
  if (typeof record === "string") throw damaged(path, `line ${number}: ${record}`);
  return record.step;
}

/** Reports can do with fewer rows; a resumed run could not be the same as one left alone. */
function damaged(path: string, what: string): DataError {
  return new DataError(
    `${path}: the run cannot go on from here: ${what}, so its records are not as it wrote them. Mend the line, or start anew`,
  );
}
