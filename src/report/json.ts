/** A report as one JSON object. Accuracies are fractions; numbers that are not finite become null. */

import type { Report } from "./report.js";

/** The report's data; `format` counts changes that break readers. */
export function toJson({ tables, comparisons, claims, features, outcome }: Report): string {
  const { id, title, about } = outcome.selection;
  const asked = features.length > 0 ? { features } : {};
  const { notes } = outcome;
  const value = { format: 1, selection: { id, title, about }, tables, comparisons, claims, ...asked, notes };
  return `${JSON.stringify(value, null, 2)}\n`;
}
