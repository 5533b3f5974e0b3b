/** The tables of a report that are made on request, as texts that every format can print. */

import { coverageTable } from "./coverage.js";
import { equivalenceTable } from "./equivalence.js";
import type { Report } from "./report.js";
import type { TextTable } from "./text-table.js";

/** Those that were asked for. */
export function askedTables({ equivalence, coverage }: Report): TextTable[] {
  return [
    ...(equivalence ? [equivalenceTable(equivalence)] : []),
    ...(coverage.length > 0 ? [coverageTable(coverage)] : []),
  ];
}
