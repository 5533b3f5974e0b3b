/**
 * Reads a line of a record file quickly. A folder has a few dozen kinds of records (model, domain, split, metric) in
 * millions of lines, so a line in the format of `formatRecord` is reduced to two numbers and a lookup of its kind.
 * Other lines are parsed as JSON and validated.
 */

import { type RunRecord, recordIn } from "./record.js";

/** A record without its step and value; one object for all records of a kind. */
export type RecordKind = Omit<RunRecord, "step" | "value">;

/** By the text between step and value. */
const kinds = new Map<string, RecordKind>();

/** Other files could contain any number of kinds. */
const MOST_KINDS = 10_000;

/** A receiver of the records of a file: those of some metrics; others are skipped. */
export interface RecordTaker {
  readonly metrics: ReadonlySet<string>;
  take(step: number, kind: RecordKind, value: number): void;
}

/**
 * Passes the record of the line from `from` to `to` in a text to its receiver; returns false if the line is not a
 * record.
 */
export function scanLine(text: string, taker: RecordTaker, from = 0, to = text.length): boolean {
  const start = text.indexOf(",", from + STEP.length);
  const end = text.lastIndexOf(VALUE, to);
  const isUsual = start > 0 && end > start && text.startsWith(STEP, from) && text.charCodeAt(to - 1) === BRACE;
  const key = isUsual ? text.slice(start, end) : "";
  const known = isUsual ? kinds.get(key) : undefined;
  if (known !== undefined) {
    if (!taker.metrics.has(known.metric)) return true;
    const step = toNumber(text.slice(from + STEP.length, start));
    const value = toNumber(text.slice(end + VALUE.length, to - 1));
    if (Number.isSafeInteger(step) && step >= 0 && Number.isFinite(value)) {
      taker.take(step, known, value);
      return true;
    }
  }
  const record = recordIn(text.slice(from, to));
  if (!record) return false;
  const { step, value, model, domain, split, metric } = record;
  const kind = known ?? { model, domain, split, metric };
  if (isUsual && kinds.size < MOST_KINDS) kinds.set(key, kind);
  if (taker.metrics.has(metric)) taker.take(step, kind, value);
  return true;
}

/** The start of a line and of its last part. */
const STEP = '{"step":';
const VALUE = ',"value":';
const BRACE = "}".charCodeAt(0);

/** NaN if there is no text, for which `Number` returns zero. */
const toNumber = (text: string): number => (text === "" ? Number.NaN : Number(text));
