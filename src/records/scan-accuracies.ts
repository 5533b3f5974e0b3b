/**
 * The accuracies of a record file, read without parsing what selection does not ask for: a report of a hundred thousand
 * runs reads little else. Only files that are as `formatRecord` writes them are taken, whole evaluations of finite numbers;
 * any other is for the careful reader (store.ts), which says what is wrong with it.
 *
 * The numbers lie in one flat array a model, since a map for each evaluation would not fit in memory.
 */

import type { DomainAccuracy, Evaluation } from "./evaluated-run.js";
import { ACCURACY } from "./record.js";

/** The accuracies of one model: by evaluation, then domain, then `in` and `out`; NaN where a part was not evaluated. */
export interface PackedAccuracies {
  readonly steps: readonly number[];
  readonly values: readonly number[];
}

const START = String.raw`\{"step":(\d{1,15}),"model":"([^"\\]+)",`;
const ROW = new RegExp(
  String.raw`${START}"domain":"([^"\\]+)","split":"(in|out)","metric":"${ACCURACY}","value":(\d[\d.e+-]*)\}\n`,
  "y",
);
/** Any other row: losses, logs, accuracies that are no numbers of a split. */
const OTHER = new RegExp(
  String.raw`${START}"domain":(?:null|"[^"\\]+"),"split":(?:null|"in"|"out"|"uda"),"metric":"[^"\\]+","value":-?\d[\d.e+-]*\}\n`,
  "y",
);

/** Accuracies by model, in the order of the file; undefined where the file needs the careful reader. */
export function scanAccuracies(
  text: string,
  { domains, testDomains }: { readonly domains: readonly string[]; readonly testDomains: readonly string[] },
): Map<string, PackedAccuracies> | undefined {
  const width = 2 * domains.length;
  const found = new Map<string, { steps: number[]; values: number[] }>();
  let [model, domain] = ["", ""];
  let [own, at, column] = [{ steps: [] as number[], values: [] as number[] }, -1, -1];
  for (let next = 0; next < text.length; ) {
    ROW.lastIndex = next;
    const row = ROW.exec(text);
    if (row === null) {
      OTHER.lastIndex = next;
      if (!OTHER.test(text)) return undefined;
      next = OTHER.lastIndex;
      continue;
    }
    next = ROW.lastIndex;
    const [step, value] = [Number(row[1]), Number(row[5])];
    if (row[2] !== model) {
      model = row[2];
      own = found.get(model) ?? { steps: [], values: [] };
      found.set(model, own);
      at = -1;
    }
    if (own.steps[at] !== step) {
      at = own.steps.indexOf(step);
      if (at < 0) at = own.steps.push(step) - 1;
    }
    while (own.values.length < width * own.steps.length) own.values.push(Number.NaN);
    if (row[3] !== domain) {
      domain = row[3];
      column = domains.indexOf(domain);
    }
    if (Number.isNaN(value)) return undefined;
    if (column >= 0) own.values[width * at + 2 * column + (row[4] === "in" ? 0 : 1)] = value;
  }
  const needed = domains.flatMap((name, i) => [...(testDomains.includes(name) ? [2 * i] : []), 2 * i + 1]);
  for (const packed of found.values()) {
    for (let i = 0; i < packed.steps.length; i++)
      if (needed.some((place) => Number.isNaN(packed.values[width * i + place]))) return undefined;
    packed.values = packed.values.slice(); // without the room that was left to grow
  }
  return found;
}

/** The evaluations in packed accuracies, made when they are asked for. */
export function unpack({ steps, values }: PackedAccuracies, domains: readonly string[]): Evaluation[] {
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
