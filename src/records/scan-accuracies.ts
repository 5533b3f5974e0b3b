/**
 * The accuracies of a record file, read without parsing what selection does not ask for: a report of a hundred thousand
 * runs reads little else. Only files of whole lines, whole evaluations and accuracies that are numbers are taken; any other is
 * for the careful reader (store.ts), which says what is wrong with it.
 *
 * The numbers lie in one flat array a model, since a map for each evaluation would not fit in memory.
 */

import type { DomainAccuracy, StepEvaluation } from "./evaluated-run.js";
import { CURRENT } from "./record.js";
import { learnLayout, scanEvaluation } from "./scan-evaluation.js";
import { type AccuracyTaker, type KnownKind, type RecordKind, scanLine } from "./scan-line.js";

/** The accuracies of one model: by evaluation, then domain, then `in` and `out`; NaN where a part was not evaluated. */
export interface PackedAccuracies {
  readonly steps: readonly number[];
  readonly values: readonly number[];
}

/** The accuracies of a record file as far as it was read; more can be added as it grows. */
export class AccuracyScan implements AccuracyTaker {
  private readonly found = new Map<string, Packing>();
  /** The model of the last accuracy. */
  private own: Packing | undefined;
  /** Whether all lines are records, and all accuracies numbers. */
  private isSound = true;
  /** How many accuracies were read. */
  count = 0;
  /** The step of the last accuracy; null before the first. */
  lastStep: number | null = null;

  constructor(private readonly domains: readonly string[]) {}

  /** Adds whole lines. Lines that are no records are passed over. */
  add(text: string): this {
    for (let from = 0; from < text.length; ) {
      const end = scanEvaluation(text, this, from);
      from = end > from ? end : this.addLines(text, from);
    }
    return this;
  }

  /** Adds the lines with the step of the first one, whose layout is not known yet. Returns their end. */
  private addLines(text: string, start: number): number {
    const beginning = text.slice(start, text.indexOf(",", start) + 1);
    const rows: KnownKind[] = [];
    let from = start;
    do {
      const end = text.indexOf("\n", from);
      const to = end < 0 ? text.length : end;
      const row = end < 0 ? undefined : scanLine(text, this, from, to);
      if (row) rows.push(row);
      else this.isSound = false;
      from = to + 1;
    } while (from < text.length && beginning !== "" && text.startsWith(beginning, from));
    // More rows of the last step may be added later.
    if (this.isSound && from < text.length) learnLayout(rows);
    return from;
  }

  take(step: number, { model, domain, split }: RecordKind, value: number): void {
    if (domain === null || (split !== "in" && split !== "out")) return;
    if (Number.isNaN(value)) this.isSound = false;
    this.count++;
    this.lastStep = step;
    let { own } = this;
    if (own?.model !== model) {
      own = this.found.get(model) ?? { model, steps: [], values: [], at: -1 };
      this.found.set(model, own);
      this.own = own;
    }
    if (own.steps[own.at] !== step) {
      own.at = own.steps.indexOf(step);
      if (own.at < 0) own.at = own.steps.push(step) - 1;
    }
    const width = 2 * this.domains.length;
    while (own.values.length < width * own.steps.length) own.values.push(Number.NaN);
    const column = this.domains.indexOf(domain);
    if (column >= 0) own.values[width * own.at + 2 * column + (split === "in" ? 0 : 1)] = value;
  }

  /** Accuracies by model, in the order of the file; undefined where the file needs the careful reader. */
  packed(testDomains: readonly string[]): Map<string, PackedAccuracies> | undefined {
    if (!this.isSound) return undefined;
    const width = 2 * this.domains.length;
    const isNeeded = (i: number): boolean => i % 2 === 1 || testDomains.includes(this.domains[(i % width) / 2]);
    const packed = new Map<string, PackedAccuracies>();
    for (const [model, { steps, values }] of this.found) {
      if (values.some((value, i) => Number.isNaN(value) && isNeeded(i))) return undefined;
      packed.set(model, { steps: steps.slice(), values: values.slice() }); // without the room that was left to grow
    }
    return packed;
  }

  /** The mean accuracy of the trained model at the last step on one split of some domains; null if one is missing. */
  lastAccuracy(domains: readonly string[], split: "in" | "out"): number | null {
    const current = this.found.get(CURRENT);
    if (domains.length === 0 || !current) return null;
    const start = 2 * this.domains.length * current.steps.indexOf(this.lastStep ?? -1);
    const values = domains.map(
      (domain) => current.values[start + 2 * this.domains.indexOf(domain) + (split === "in" ? 0 : 1)] ?? Number.NaN,
    );
    const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
    return Number.isNaN(mean) ? null : mean;
  }
}

/** A model's accuracies while they are read, and the place of the step that came last. */
interface Packing {
  readonly model: string;
  readonly steps: number[];
  readonly values: number[];
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
