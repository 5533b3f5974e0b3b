/**
 * Reads a line of a record file quickly. A folder has a few dozen kinds of records (model, domain, split, metric) in
 * millions of lines, so a line in the format of `formatRecord` is reduced to two numbers and a lookup of its kind.
 * Other lines are parsed as JSON and validated.
 */

import { ACCURACY, type RunRecord, recordIn } from "./record.js";

/** A record without its step and value; one object for all records of a kind. */
export type RecordKind = Omit<RunRecord, "step" | "value">;

/** A kind of records, and the text between step and value; empty if the line has another format. */
export interface KnownKind {
  readonly kind: RecordKind;
  readonly text: string;
}

const kinds = new Map<string, KnownKind>();

/** Other files could contain any number of kinds. */
const MOST_KINDS = 10_000;

/** A receiver of accuracies. */
export interface AccuracyTaker {
  take(step: number, kind: RecordKind, value: number): void;
}

/**
 * Passes the line from `from` to `to` in a text to a receiver if it is an accuracy. Returns its kind; undefined if the
 * line is not a record.
 */
export function scanLine(text: string, taker: AccuracyTaker, from: number, to: number): KnownKind | undefined {
  const start = text.indexOf(",", from + STEP.length);
  const isUsual = start > 0 && start < to && text.startsWith(STEP, from) && text.charCodeAt(to - 1) === BRACE;
  const between = isUsual ? textAt(text, start, to) : "";
  const known = kinds.get(between);
  if (known) {
    if (known.kind.metric !== ACCURACY) return known;
    const step = toNumber(text.slice(from + STEP.length, start));
    const value = toNumber(text.slice(start + between.length, to - 1));
    if (Number.isSafeInteger(step) && step >= 0 && Number.isFinite(value)) {
      taker.take(step, known.kind, value);
      return known;
    }
  }
  const record = recordIn(text.slice(from, to));
  if (!record) return undefined;
  const { step, value, model, domain, split, metric } = record;
  // A copy of the text, because a slice would keep the whole file in memory.
  const found = known ?? { kind: { model, domain, split, metric }, text: Buffer.from(between).toString() };
  if (found.text !== "" && kinds.size < MOST_KINDS) kinds.set(found.text, found);
  if (metric === ACCURACY) taker.take(step, found.kind, value);
  return found;
}

/** The text from the first comma of a line to its value; empty if the line has another format. */
const textAt = (text: string, start: number, to: number): string =>
  text.slice(start, Math.max(start, text.lastIndexOf(VALUE, to) + VALUE.length));

/** The start of a line and of its last part. */
export const STEP = '{"step":';
const VALUE = ',"value":';
const BRACE = "}".charCodeAt(0);

/** NaN if there is no text, for which `Number` returns zero. */
const toNumber = (text: string): number => (text === "" ? Number.NaN : Number(text));
