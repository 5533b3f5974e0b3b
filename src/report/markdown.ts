/** A report as Markdown, formatted so that it also reads well in a terminal. */

import { verdictText } from "../paper/claims.js";
import { askedTables } from "./asked-tables.js";
import { FEATURE_COLUMNS } from "./chosen-features.js";
import { comparisonTables } from "./comparison-table.js";
import { type FeatureTable, featureWords } from "./feature-table.js";
import { modelTable } from "./model-list.js";
import { protocolWords } from "./protocol.js";
import type { Report } from "./report.js";
import { cellNumbers, isPartial, numbersText, type Table, type TableCell, type TableRow } from "./table.js";
import type { TextTable } from "./text-table.js";
import { threeDigits, weightTable } from "./weight-table.js";

/** The whole report. */
export function toMarkdown(report: Report): string {
  const { tables, models, comparisons, equivalence, claims, weights, features, outcome } = report;
  const parts = tables.map(tableSection);
  // Tables state the protocol and the selection method; other parts alone do not.
  if (tables.length === 0) parts.push(protocolWords(outcome, outcome.datasets).map(plain).join("\n"));
  parts.push(
    ...[...models.map((list) => modelTable(list)), ...comparisonTables(comparisons, equivalence !== null)].map(
      textSection,
    ),
  );
  if (claims.length > 0) {
    const body = claims.map(({ claim, published, ours }) =>
      [claim, verdictText(published), verdictText(ours)].map(plain),
    );
    parts.push(
      ["## The paper's claims", grid(["claim", "on the published numbers", "on these runs"], body, "left")].join(
        "\n\n",
      ),
    );
  }
  parts.push(...weights.map((study) => textSection(weightTable(study))), ...features.map(featureSection));
  parts.push(...askedTables(report).map(textSection));
  if (outcome.notes.length > 0) parts.push(["## Notes and exclusions", ...bullets(outcome.notes)].join("\n\n"));
  return `${parts.join("\n\n")}\n`;
}

function featureSection({ title, rows }: FeatureTable): string {
  const columns = Object.keys(FEATURE_COLUMNS) as (keyof typeof FEATURE_COLUMNS)[];
  const head = ["Algorithm", "features of", ...columns.map((name) => plain(FEATURE_COLUMNS[name])), "head", "runs"];
  const body = rows.map(({ title: method, of, values, headNorm, runs }) => [
    plain(method),
    of,
    ...columns.map((name) => threeDigits(values[name])),
    threeDigits(headNorm),
    String(runs),
  ]);
  return [`## Features on ${plain(title)}`, featureWords, grid(head, body)].join("\n\n");
}

function textSection({ title, words, head, rows, notes, align }: TextTable): string {
  const texts = rows.map((row) => row.map(plain));
  return [
    `## ${plain(title)}`,
    ...(words.length > 0 ? [words.map(plain).join("\n")] : []),
    grid(head.map(plain), texts, align),
    ...bullets(notes),
  ].join("\n\n");
}

function tableSection({ title, words, columns, rows, notes }: Table): string {
  const body = rows.map((row) => [rowTitle(row), ...row.cells.map((cell) => cellText(cell, row.kind))]);
  return [
    `## ${plain(title)}`,
    [...words, "Bold: best; italic: second best; (n/m): n of m trials."].map(plain).join("\n"),
    grid(["Algorithm", ...columns.map(plain)], body),
    ...(notes.length > 0 ? [notes.map((note, i) => `[${i + 1}] ${plain(note)}`).join("  \n")] : []),
  ].join("\n\n");
}

const rowTitle = ({ kind, title }: TableRow): string => (kind === "own" ? plain(title) : `↳ ${title}`);

/** `**85.5 ± 0.2**`, `84.0 ± 0.3 (2/3) [2]`, `– [1]`. */
function cellText(cell: TableCell, kind: TableRow["kind"]): string {
  const numbers = cellNumbers(cell, kind);
  const note = cell.note === null ? "" : ` [${cell.note}]`;
  if (!numbers) return `–${note}`;
  const text = numbersText(numbers);
  const marked = cell.mark === "best" ? `**${text}**` : cell.mark === "second" ? `_${text}_` : text;
  return `${marked}${isPartial(cell) ? ` (${cell.trials!.join("/")})` : ""}${note}`;
}

const bullets = (notes: readonly string[]): string[] =>
  notes.length === 0 ? [] : [notes.map((note) => `- ${plain(note)}`).join("\n")];

/**
 * One line of text, with the characters escaped that would start a cell, emphasis or a tag; underscores inside names
 * are not escaped.
 */
function plain(text: string): string {
  return text.replace(/[\r\n]+/g, " ").replace(/[|*<>]/g, (found) => `\\${found}`);
}

/** Columns padded to the same width: the first left-aligned, the others as given. */
function grid(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  align: "left" | "right" = "right",
): string {
  const widths = head.map((_, i) => Math.max(3, ...[head, ...rows].map((row) => [...row[i]].length)));
  const pad = (text: string, i: number): string => {
    const space = " ".repeat(widths[i] - [...text].length);
    return i > 0 && align === "right" ? space + text : text + space;
  };
  const toLine = (row: readonly string[]): string => `| ${row.map(pad).join(" | ")} |`;
  const rule = widths.map((width, i) => (i > 0 && align === "right" ? `${"-".repeat(width - 1)}:` : "-".repeat(width)));
  return [toLine(head), `| ${rule.join(" | ")} |`, ...rows.map(toLine)].join("\n");
}
