/** A report as one JSON object. Accuracies are fractions; numbers that are not finite become null. */

import { chosenOf } from "./chosen.js";
import type { Report } from "./report.js";

/** The data of the report. `format` is increased by changes that break readers. */
export function toJson({ outcome, tables, comparisons, claims, curves: _, ...parts }: Report): string {
  const { id, title, about } = outcome.selection;
  const asked = Object.entries(parts).filter(
    ([, part]) => part !== null && !(Array.isArray(part) && part.length === 0),
  );
  const value = {
    format: 1,
    selection: { id, title, about },
    tables,
    chosen: chosenOf(outcome),
    comparisons,
    claims,
    ...Object.fromEntries(asked),
    notes: outcome.notes,
  };
  return `${JSON.stringify(value, null, 2)}\n`;
}
