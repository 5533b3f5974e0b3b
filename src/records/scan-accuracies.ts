/**
 * The accuracies of a record file, read without parsing what selection does not ask for: a report of a hundred thousand
 * runs reads little else. Only files of whole lines, whole evaluations and accuracies that are numbers are taken; any other is
 * for the careful reader (store.ts), which says what is wrong with it.
 *
 * The numbers lie in one flat array a model, since a map for each evaluation would not fit in memory.
 */

import type { DomainAccuracy, StepEvaluation } from "./evaluated-run.js";
import { ACCURACY } from "./record.js";
import { type RecordKind, scanLine } from "./scan-line.js";

/** The accuracies of one model: by evaluation, then domain, then `in` and `out`; NaN where a part was not evaluated. */
export interface PackedAccuracies {
  readonly steps: readonly number[];
  readonly values: readonly number[];
}

/** Accuracies by model, in the order of the file; undefined where the file needs the careful reader. */
export function scanAccuracies(
  text: string,
  { domains, testDomains }: { readonly domains: readonly string[]; readonly testDomains: readonly string[] },
): Map<string, PackedAccuracies> | undefined {
  const width = 2 * domains.length;
  const found = new Map<string, Packing>();
  let own: Packing | undefined;
  let isWhole = true;
  const take = (step: number, { model, domain, split }: RecordKind, value: number): void => {
    if (domain === null || (split !== "in" && split !== "out")) return;
    if (Number.isNaN(value)) isWhole = false;
    if (own?.model !== model) {
      own = found.get(model) ?? { model, steps: [], values: [], at: -1 };
      found.set(model, own);
    }
    if (own.steps[own.at] !== step) {
      own.at = own.steps.indexOf(step);
      if (own.at < 0) own.at = own.steps.push(step) - 1;
    }
    while (own.values.length < width * own.steps.length) own.values.push(Number.NaN);
    const column = domains.indexOf(domain);
    if (column >= 0) own.values[width * own.at + 2 * column + (split === "in" ? 0 : 1)] = value;
  };
  const taker = { metrics: ACCURACIES, take };
  for (let [from, to] = [0, 0]; from < text.length; from = to + 1) {
    to = text.indexOf("\n", from);
    if (to < 0 || !scanLine(text, taker, from, to) || !isWhole) return undefined;
  }
  const needed = domains.flatMap((name, i) => [...(testDomains.includes(name) ? [2 * i] : []), 2 * i + 1]);
  for (const packed of found.values()) {
    for (let i = 0; i < packed.steps.length; i++)
      if (needed.some((place) => Number.isNaN(packed.values[width * i + place]))) return undefined;
    packed.values = packed.values.slice(); // without the room that was left to grow
  }
  return found;
}

const ACCURACIES: ReadonlySet<string> = new Set([ACCURACY]);

/** A model's accuracies while they are read, and the place of the step that came last. */
interface Packing {
  readonly model: string;
  readonly steps: number[];
  values: number[];
  at: number;
}

/** The evaluations in packed accuracies, made when they are asked for. */
export function unpack({ steps, values }: PackedAccuracies, domains: readonly string[]): StepEvaluation[] {
  const width = 2 * domains.length;
  const part = (at: number): number | undefined => (Number.isNaN(values[at]) ? undefined : values[at]);
  return steps.map((step, i) => ({
    step,
    accuracy: new Map(
      domains.map((domain, d): [string, DomainAccuracy] => {
        const at = width * i + 2 * d;
        return [domain, { in: part(at), out: part(at + 1) }];
      }),
    ),
  }));
}
