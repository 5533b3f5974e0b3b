/**
 * What the tables need of a run's records, in little room: ten thousand runs of five hundred records each are a gigabyte as
 * objects and some tens of megabytes as columns. Kept are the accuracies, and the ranks of the λ figure; curves are read from
 * the file again when somebody looks at them.
 */

import { ACCURACY, CURRENT, type RunRecord } from "../records/record.js";
import { type RecordKind, type RecordTaker, scanLine } from "../records/scan-line.js";

/** The metrics that are kept. */
const KEPT: ReadonlySet<string> = new Set([ACCURACY, "stableRank", "centredStableRank"]);

export class Measured implements RecordTaker {
  readonly metrics = KEPT;
  private steps: number[] = [];
  private kindOf: RecordKind[] = [];
  private values: number[] = [];

  /** Adds lines of a record file; those that are no records are passed over. Returns whether anything was kept. */
  add(lines: readonly string[]): boolean {
    const before = this.steps.length;
    for (const line of lines) scanLine(line, this);
    return this.steps.length > before;
  }

  clear(): void {
    [this.steps, this.kindOf, this.values] = [[], [], []];
  }

  /** The last step that was evaluated; null before the first. */
  get lastStep(): number | null {
    return this.steps.at(-1) ?? null;
  }

  /** The mean accuracy of the trained model at the last step on one part of some domains; null where one is missing. */
  lastAccuracy(domains: readonly string[], split: "in" | "out"): number | null {
    const last = this.lastStep;
    let sum = 0;
    const left = new Set(domains);
    for (let i = this.steps.length - 1; i >= 0 && this.steps[i] === last && left.size > 0; i--) {
      const { model, domain, split: part, metric } = this.kindOf[i];
      if (model === CURRENT && metric === ACCURACY && part === split && domain !== null && left.delete(domain))
        sum += this.values[i];
    }
    return domains.length > 0 && left.size === 0 ? sum / domains.length : null;
  }

  /** As records again. */
  records(): RunRecord[] {
    return this.steps.map((step, i) => {
      const { model, domain, split, metric } = this.kindOf[i];
      return { step, model, domain, split, metric, value: this.values[i] };
    });
  }

  take(step: number, kind: RecordKind, value: number): void {
    this.steps.push(step);
    this.kindOf.push(kind);
    this.values.push(value);
  }
}
