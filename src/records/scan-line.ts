/**
 * One line of a record file, read quickly. A folder has a few dozen kinds of records (model, domain, part, metric) in millions of
 * lines, so that a line as `formatRecord` writes it comes down to two numbers and a look at its kind; any other line is parsed
 * as JSON and checked.
 */

import { type RunRecord, recordIn } from "./record.js";

/** All of a record but its step and value; one object for all records of a kind. */
export type RecordKind = Omit<RunRecord, "step" | "value">;

/** By the text that a line has between step and value. */
const kinds = new Map<string, RecordKind>();

/** Files that are not ours could hold any number of kinds. */
const MOST_KINDS = 10_000;

/** What takes the records of a file: those of some metrics, all others are passed over. */
export interface RecordTaker {
  readonly metrics: ReadonlySet<string>;
  take(step: number, kind: RecordKind, value: number): void;
}

/** Gives the record of the line from `from` to `to` in a text to its taker; false where the line is none. */
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

/** Where a line begins, and where its last part does. */
const STEP = '{"step":';
const VALUE = ',"value":';
const BRACE = "}".charCodeAt(0);

/** Not a number where there is no text, of which `Number` makes zero. */
const toNumber = (text: string): number => (text === "" ? Number.NaN : Number(text));
