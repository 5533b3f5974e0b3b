/** A report as one JSON object. Accuracies are fractions; numbers that are not finite become null. */

import type { Report } from "./report.js";

/** The report's data; `format` counts changes that break readers. */
export function toJson({ tables, comparisons, claims, outcome }: Report): string {
  const { id, title, about } = outcome.selection;
  const value = { format: 1, selection: { id, title, about }, tables, comparisons, claims, notes: outcome.notes };
  return `${JSON.stringify(value, null, 2)}\n`;
}
