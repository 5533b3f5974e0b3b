/**
 * A report as LaTeX: booktabs tables like those of the paper, with the best in bold and the second underlined. Needs
 * `\usepackage{booktabs}`.
 */

import { askedTables } from "./asked-tables.js";
import { comparisonTables } from "./comparison-table.js";
import { modelTable } from "./model-list.js";
import type { Report } from "./report.js";
import { cellNumbers, isPartial, type Table, type TableCell, type TableRow } from "./table.js";
import type { TextTable } from "./text-table.js";
import { weightTable } from "./weight-table.js";

/** The tables and paired differences of a report, each a `table` environment. */
export function toLatex(report: Report): string {
  const { tables, models, comparisons, equivalence, weights } = report;
  const texts = [
    ...models.map((list) => modelTable(list)),
    ...comparisonTables(comparisons, equivalence !== null),
    ...weights.map(weightTable),
    ...askedTables(report),
  ].map(textTable);
  return ["% \\usepackage{booktabs}", ...tables.map(tableText), ...texts].join("\n\n").concat("\n");
}

function textTable({ title, words, head, rows, notes }: TextTable): string {
  return environment({
    ...captioned(title, words),
    label: title,
    columns: `l${"c".repeat(head.length - 1)}`,
    head: head.map((heading) => `\\textbf{${escapeLatex(heading)}}`).join(" & "),
    body: rows.map((row) => row.map(escapeLatex).join(" & ")),
    under: notes.map(escapeLatex),
  });
}

function tableText({ id, title, words, columns, rows, notes }: Table): string {
  const body = rows.map((row) => [rowTitle(row), ...row.cells.map((cell) => cellText(cell, row.kind))].join(" & "));
  const head = ["Algorithm", ...columns].map((heading) => `\\textbf{${escapeLatex(heading)}}`).join(" & ");
  const under = notes.map((note, i) => `$^{${i + 1}}$ ${escapeLatex(note)}`);
  return environment({
    ...captioned(title, words, "The best is bold, the second best underlined; (n/m): n of m trials."),
    label: id,
    columns: `l${"c".repeat(columns.length)}`,
    head,
    body,
    under,
  });
}

/** A longer caption than this has more than two lines in an article of two columns' width. */
const CAPTION = 160;

/**
 * The caption of a table, at most about two lines: the title, what is short enough of the first words, and what marks mean.
 * The protocol is in a note below the table.
 */
function captioned(title: string, words: readonly string[], marks = ""): Pick<Parts, "caption" | "note"> {
  const [first = "", ...rest] = words;
  const [sentence = ""] = /^.*?[.](?= |$)/.exec(first) ?? [];
  const isShort = sentence !== "" && title.length + sentence.length + marks.length < CAPTION;
  const said = isShort ? sentence : "";
  const note = [first.slice(said.length).trim(), ...rest].filter((each) => each !== "").join(" ");
  return { caption: [`${title}.`, said, marks].filter((each) => each !== "").join(" "), note };
}

interface Parts {
  caption: string;
  /** Below the table. */
  note: string;
  label: string;
  columns: string;
  head: string;
  body: readonly string[];
  under?: readonly string[];
}

function environment({ caption, note, label, columns, head, body, under = [] }: Parts): string {
  return [
    "\\begin{table}[t]",
    "\\centering",
    `\\caption{${escapeLatex(caption)}}`,
    `\\label{tab:${label.replace(/[^A-Za-z0-9-]+/g, "-")}}`,
    "\\medskip", // the standard classes expect captions below and leave no space after them
    `\\begin{tabular}{${columns}}`,
    "\\toprule",
    `${head} \\\\`,
    "\\midrule",
    ...body.map((line) => `${line} \\\\`),
    "\\bottomrule",
    "\\end{tabular}",
    ...under.map((each) => `\\par{\\footnotesize ${each}}`),
    ...(note === "" ? [] : [`\\par{\\footnotesize ${escapeLatex(`Note: ${note}`)}}`]),
    "\\end{table}",
  ].join("\n");
}

const rowTitle = ({ kind, title }: TableRow): string =>
  kind === "own" ? escapeLatex(title) : `\\quad\\textit{${escapeLatex(title)}}`;

function cellText(cell: TableCell, kind: TableRow["kind"]): string {
  const numbers = cellNumbers(cell, kind);
  const note = cell.note === null ? "" : `$^{${cell.note}}$`;
  if (!numbers) return `--${note}`;
  const mean = numbers.mean.replace(/^([+-])/, "$$$1$$");
  const spread = numbers.error === "" ? "" : ` $\\pm$ ${numbers.error}`;
  const text = `${mean}${spread}${numbers.interval === "" ? "" : ` (${numbers.interval.replace("–", "--")})`}`;
  const marked = cell.mark === "best" ? `\\textbf{${text}}` : cell.mark === "second" ? `\\underline{${text}}` : text;
  return `${marked}${isPartial(cell) ? ` (${cell.trials!.join("/")})` : ""}${note}`;
}

const GREEK =
  "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi - pi rho - sigma tau upsilon phi chi psi omega";

const SPECIAL: Readonly<Record<string, string>> = {
  "\\": "\\textbackslash{}",
  "~": "\\textasciitilde{}",
  "^": "\\textasciicircum{}",
  "<": "$<$", // the default encoding has other characters at these three positions
  ">": "$>$",
  "|": "$|$",
  "−": "$-$",
  "±": "$\\pm$",
  "√": "$\\surd$",
  "×": "$\\times$",
  "·": "$\\cdot$",
  "≤": "$\\leq$",
  "≥": "$\\geq$",
  "‖": "$\\|$",
  "…": "\\dots{}",
  "–": "\\textendash{}",
  "—": "\\textemdash{}",
  "‘": "`",
  "’": "'",
  "“": "``",
  "”": "''",
  ...Object.fromEntries(
    GREEK.split(" ").flatMap((name, i) => (name === "-" ? [] : [[String.fromCharCode(0x3b1 + i), `$\\${name}$`]])),
  ),
};

/** Text as LaTeX source, with the characters escaped that are commands there. */
export function escapeLatex(text: string): string {
  return text
    .normalize("NFC")
    .replace(/[\r\n]+/g, " ")
    .replaceAll("--", "-\0-") // two hyphens would become a dash, but options have two
    .replace(/`([^`]*)`|[&%$#_{}]|[^\x20-\x7e]|[\\~^<>|]/gu, (found, code?: string) =>
      code === undefined ? escapeCharacter(found) : `\\texttt{${escapeLatex(code)}}`,
    );
}

function escapeCharacter(found: string): string {
  if (found === "\0") return "{}";
  if (Object.hasOwn(SPECIAL, found)) return SPECIAL[found];
  if (/^[\x20-\x7e]$/.test(found)) return `\\${found}`;
  // Accented letters that LaTeX has in its default encoding; it would stop at any other character.
  return /^[A-Za-z][\u0300-\u0304\u0306-\u0308\u030a-\u030c\u0327]$/.test(found.normalize("NFD")) && found <= "\u017f"
    ? found
    : `(U+${found.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")})`;
}
