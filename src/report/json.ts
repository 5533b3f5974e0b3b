/** A report as one JSON object. Accuracies are fractions; numbers that are not finite become null. */

import type { Report } from "./report.js";

/** The report's data; `format` counts changes that break readers. */
export function toJson({
  tables,
  models,
  comparisons,
  equivalence,
  claims,
  weights,
  features,
  coverage,
  outcome,
}: Report): string {
  const { id, title, about } = outcome.selection;
  const more = {
    ...(models.length > 0 && { models }),
    ...(equivalence && { equivalence }),
    ...(weights.length > 0 && { weights }),
    ...(features.length > 0 && { features }),
    ...(coverage.length > 0 && { coverage }),
  };
  const { notes } = outcome;
  const value = { format: 1, selection: { id, title, about }, tables, comparisons, claims, ...more, notes };
  return `${JSON.stringify(value, null, 2)}\n`;
}
