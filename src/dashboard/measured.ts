/**
 * What the tables need of a run's records, in little room: ten thousand runs of five hundred records each are a gigabyte as
 * objects and some tens of megabytes as columns. Kept are the accuracies, and the ranks of the λ figure; curves are read from
 * the file again when somebody looks at them.
 */

import { ACCURACY, CURRENT, type RunRecord, recordIn } from "../records/record.js";

/** The metrics that are kept. */
const KEPT: readonly string[] = [ACCURACY, "stableRank", "centredStableRank"];

/** All of a record but its step and value. */
type Kind = Omit<RunRecord, "step" | "value">;

/**
 * Kinds by the text they have in a line between step and value, null for those that are not kept. A folder has a few dozen
 * of them in millions of lines, so that parsing a line comes down to two numbers and a look here.
 */
const kinds = new Map<string, Kind | null>();

/** Files that are not ours could hold any number of kinds. */
const MOST_KINDS = 10_000;

export class Measured {
  private steps: number[] = [];
  private kindOf: Kind[] = [];
  private values: number[] = [];

  /** Adds lines of a record file; those that are no records are passed over. Returns whether anything was kept. */
  add(lines: readonly string[]): boolean {
    const before = this.steps.length;
    for (const line of lines) this.addLine(line);
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

  /** A line as `formatRecord` writes it is not parsed as JSON once its kind is known. */
  private addLine(line: string): void {
    const [start, end] = [line.indexOf(",", STEP.length), line.lastIndexOf(VALUE)];
    const key = line.slice(start, end);
    const kind = line.startsWith(STEP) && start > 0 && end > start ? kinds.get(key) : undefined;
    if (kind === null) return;
    if (kind !== undefined && line.endsWith("}")) {
      const [step, value] = [line.slice(STEP.length, start), line.slice(end + VALUE.length, -1)].map(toNumber);
      if (Number.isSafeInteger(step) && step >= 0 && Number.isFinite(value)) {
        this.keep(step, kind, value);
        return;
      }
    }
    const record = recordIn(line);
    if (!record) return;
    const { step, model, domain, split, metric, value } = record;
    const found = KEPT.includes(metric) ? { model, domain, split, metric } : null;
    if (kinds.size < MOST_KINDS) kinds.set(key, found);
    if (found) this.keep(step, found, value);
  }

  private keep(step: number, kind: Kind, value: number): void {
    this.steps.push(step);
    this.kindOf.push(kind);
    this.values.push(value);
  }
}

/** Where a line begins, and where its last part does. */
const STEP = '{"step":';
const VALUE = ',"value":';

/** Not a number where there is no text, of which `Number` makes zero. */
const toNumber = (text: string): number => (text === "" ? Number.NaN : Number(text));
