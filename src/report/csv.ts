/**
 * A report as CSV (RFC 4180) for spreadsheets and scripts: one line per cell and, as `trial` rows, one per trial of the
 * cell with the run, step and hyperparameters that model selection chose. Accuracies are fractions.
 */

import { showText } from "../data/show-name.js";
import { domainLabels } from "../settings/names.js";
import { chosenOf } from "./chosen.js";
import { combinedText } from "./combined-runs.js";
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
  "trial",
  "step",
  "draw",
  "validation",
  "hparams",
  "run",
] as const;

/** Every cell of every table, with methods by the title of their row. The note of an empty mean contains the reason. */
export function toCsv({ tables, outcome }: Report): string {
  const titles = new Map(outcome.methods.map(({ key, title }) => [key, title]));
  const selection = outcome.selection.id;
  const chosen = tables.length > 0 ? chosenOf(outcome) : [];
  const lines = tables.flatMap(({ id, columns, rows, notes }) => {
    const cellLines = rows.flatMap(({ kind, method, cells }) =>
      cells.map(({ mean, error, trials, note, interval, pictures }, i) => ({
        ...{ table: id, selection, method: titles.get(method) ?? method, row: kind, column: columns[i] },
        ...{ mean, standard_error: error, trials: trials?.[0], of_trials: trials?.[1] },
        ...{ note: note === null ? null : notes[note - 1], low: interval?.[0], high: interval?.[1], pictures },
      })),
    );
    const domains = outcome.heldOutOf(id);
    const labels = domainLabels(id, domains);
    const trialLines = chosen
      .filter(({ dataset }) => dataset === id)
      .map(({ title, domain, test, trial, step, draw, validation, hparams, combines, run }) => ({
        ...{ table: id, selection, method: title, row: "trial", column: labels[domains.indexOf(domain)], mean: test },
        ...{ trial, step, draw, validation, run },
        ...(combines ? { note: combinedText(combines) } : { hparams: JSON.stringify(hparams) }),
      }));
    return [...cellLines, ...trialLines].map(toLine);
  });
  return [HEAD.join(","), ...lines, ""].join("\r\n");
}

type Line = Readonly<Partial<Record<(typeof HEAD)[number], string | number | null>>>;

const toLine = (line: Line): string => HEAD.map((name) => csvField(String(line[name] ?? ""))).join(",");

/**
 * A field, in quotes if needed. A field that a spreadsheet would interpret as a formula gets a leading space, and
 * control characters are escaped.
 */
export function csvField(value: string): string {
  const text = showText(value);
  const safe = /^[=@\t\r]|^[+-](?![\d.])/.test(text) ? ` ${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
