/**
 * A record: one measured number of a run, as one line of `records.jsonl`. Everything else (dataset, seeds,
 * hyperparameters) is in the settings of the run, so nothing has to be parsed from a key:
 *
 *     { "step": 300, "model": "current", "domain": "sketch", "split": "in", "metric": "accuracy", "value": 0.81 }
 */

import type { SplitName } from "../data/split.js";
import { show } from "../files/stored-json.js";
import { isObject } from "./json-lines.js";

/** The model that is being trained. Other models are averages of weights, under their ids. */
export const CURRENT = "current";

/** The metric that selection reads. */
export const ACCURACY = "accuracy";

export interface RunRecord {
  /** The step after which it was measured, counted from 0. */
  readonly step: number;
  /** `current`, or the id of an average such as `swad`. */
  readonly model: string;
  /** Null if it does not apply, as for the training loss. */
  readonly domain: string | null;
  readonly split: SplitName | null;
  /** `accuracy`, `loss`, …; an accuracy is a fraction. */
  readonly metric: string;
  readonly value: number;
}

const SPLITS: readonly unknown[] = ["in", "out", "uda", null];

/** JSON cannot represent these numbers. They are written as text, so that a reader that expects numbers notices. */
const NOT_FINITE = ["NaN", "Infinity", "-Infinity"];

/** The line of a record with its newline. The order of keys is fixed, so that equal runs write equal bytes. */
export function formatRecord({ step, model, domain, split, metric, value }: RunRecord): string {
  const written = Number.isFinite(value) ? value : String(value);
  return `${JSON.stringify({ step, model, domain, split, metric, value: written })}\n`;
}

/** The record in a parsed line, or a message about the problem. */
export function toRecord(parsed: unknown): RunRecord | string {
  if (!isObject(parsed)) return "it is not a record";
  const { step, model, domain, split, metric, value } = parsed;
  if (!Number.isSafeInteger(step) || (step as number) < 0) return `step is ${show(step)}, not a count`;
  if (typeof model !== "string" || model === "") return `model is ${show(model)}, not a name`;
  if (domain !== null && typeof domain !== "string") return `domain is ${show(domain)}, neither a name nor null`;
  if (!SPLITS.includes(split)) return `split is ${show(split)}, not in, out, uda or null`;
  if (typeof metric !== "string" || metric === "") return `metric is ${show(metric)}, not a name`;
  const number = NOT_FINITE.includes(value as string) ? Number(value) : value;
  if (typeof number !== "number") return `value is ${show(value)}, not a number`;
  return { step: step as number, model, domain, split: split as SplitName | null, metric, value: number };
}

/** The record of a line; undefined if it is not a record. */
export function recordIn(line: string): RunRecord | undefined {
  try {
    const record = toRecord(JSON.parse(line));
    return typeof record === "string" ? undefined : record;
  } catch {
    return undefined;
  }
}
