/** A report as one JSON object. Accuracies are fractions; numbers that are not finite become null. */

import { chosenOf } from "./chosen.js";
import type { Report } from "./report.js";

/** The data of the report. `format` is increased by changes that break readers. */
export function toJson({
  tables,
  models,
  comparisons,
  equivalence,
  claims,
  weights,
  features,
  best,
  influence,
  coverage,
  outcome,
}: Report): string {
  const { id, title, about } = outcome.selection;
  const more = {
    ...(models.length > 0 && { models }),
    ...(equivalence && { equivalence }),
    ...(weights.length > 0 && { weights }),
    ...(features.length > 0 && { features }),
    ...(best.length > 0 && { best }),
    ...(influence.length > 0 && { influence }),
    ...(coverage.length > 0 && { coverage }),
  };
  const { notes } = outcome;
  const value = {
    format: 1,
    selection: { id, title, about },
    tables,
    chosen: chosenOf(outcome),
    comparisons,
    claims,
    ...more,
    notes,
  };
  return `${JSON.stringify(value, null, 2)}\n`;
}
