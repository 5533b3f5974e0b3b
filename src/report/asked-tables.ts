/** The tables of a report that are created on request, as texts that every format can print. */

import { chosenTables } from "./chosen.js";
import { coverageTable } from "./coverage.js";
import { equivalenceTables } from "./equivalence.js";
import { influenceTables } from "./influence.js";
import type { Report } from "./report.js";
import type { TextTable } from "./text-table.js";

/** The requested tables. */
export function askedTables({ outcome, equivalence, best, influence, coverage }: Report): TextTable[] {
  return [
    ...(equivalence ? equivalenceTables(equivalence) : []),
    ...chosenTables(outcome, best),
    ...influenceTables(influence),
    ...(coverage.length > 0 ? [coverageTable(coverage)] : []),
  ];
}
