/** A report as CSV (RFC 4180), one line a cell, for spreadsheets and scripts. Accuracies are fractions. */

import type { Report } from "./report.js";

const HEAD = [
  "table",
  "selection",
  "method",
  "row",
  "column",
  "mean",
  "standard_error",
  "trials",
  "of_trials",
  "note",
  "low",
  "high",
  "pictures",
];

/** Every cell of every table, methods by the title of their row; an empty mean has its reason in the note. */
export function toCsv({ tables, outcome }: Report): string {
  const titles = new Map(outcome.methods.map(({ key, title }) => [key, title]));
  const lines = tables.flatMap(({ id, columns, rows, notes }) =>
    rows.flatMap(({ kind, method, cells }) =>
      cells.map(({ mean, error, trials, note, interval, pictures }, i) =>
        [
          id,
          outcome.selection.id,
          titles.get(method) ?? method,
          kind,
          columns[i],
          mean ?? "",
          error ?? "",
          trials?.[0] ?? "",
          trials?.[1] ?? "",
          note === null ? "" : notes[note - 1],
          interval?.[0] ?? "",
          interval?.[1] ?? "",
          pictures ?? "",
        ]
          .map(String)
          .map(csvField)
          .join(","),
      ),
    ),
  );
  return [HEAD.join(","), ...lines, ""].join("\r\n");
}

/** A field, in quotes where it needs them; one that a spreadsheet would take for a formula gets a space before it. */
export function csvField(text: string): string {
  const safe = /^[=@\t\r]|^[+-](?![\d.])/.test(text) ? ` ${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
