/**
 * A record: one measured number of a run, as one line of `records.jsonl`. All else (dataset, seeds, hyperparameters) is
 * in the run's settings, so a record never has to be parsed out of a key:
 *
 *     { "step": 300, "model": "current", "domain": "sketch", "split": "in", "metric": "accuracy", "value": 0.81 }
 */

import type { SplitName } from "../data/split.js";
import { show } from "../files/stored-json.js";
import { isObject } from "./json-lines.js";

/** The model that is being trained; other models are averaging followers, under their ids. */
export const CURRENT = "current";

/** The metric that selection reads. */
export const ACCURACY = "accuracy";

export interface RunRecord {
  /** Updates made before the one this was measured after, from 0. */
  readonly step: number;
  /** `current`, or the id of an averaging follower such as `swad`. */
  readonly model: string;
  /** Null where it makes no sense, as for the training loss. */
  readonly domain: string | null;
  readonly split: SplitName | null;
  /** `accuracy`, `loss`, …; an accuracy is a fraction. */
  readonly metric: string;
  readonly value: number;
}

const SPLITS: readonly unknown[] = ["in", "out", "uda", null];

/** JSON has no words for these; as text they survive, and a reader that expects numbers notices. */
const NOT_FINITE = ["NaN", "Infinity", "-Infinity"];

/** The line of a record, with its newline: keys in a fixed order, so that the same run writes the same bytes. */
export function formatRecord({ step, model, domain, split, metric, value }: RunRecord): string {
  const written = Number.isFinite(value) ? value : String(value);
  return `${JSON.stringify({ step, model, domain, split, metric, value: written })}\n`;
}

/** The record in a parsed line, or in words what is wrong with it. */
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

/** The record of a line; undefined where it is none. */
export function recordIn(line: string): RunRecord | undefined {
  try {
    const record = toRecord(JSON.parse(line));
    return typeof record === "string" ? undefined : record;
  } catch {
    return undefined;
  }
}
