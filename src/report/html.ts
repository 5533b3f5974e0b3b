/**
 * A report as one HTML file without external resources: tables, verdicts, paired differences and curves as inline SVG,
 * in light and dark mode. It has no scripts, and its content security policy forbids all requests.
 */

import { escapeXml } from "../drawing/svg.js";
import { verdictText } from "../paper/claims.js";
import { datasetTitle } from "../settings/names.js";
import { askedTables } from "./asked-tables.js";
import { areMany, comparisonTables } from "./comparison-table.js";
import { curveCharts, curveWords } from "./curves.js";
import { improvementChart, improvementSummary, improvementTitle } from "./improvement.js";
import { influenceFigures } from "./influence-figure.js";
import { modelTable } from "./model-list.js";
import type { PairedComparison } from "./paired.js";
import { protocolWords } from "./protocol.js";
import type { Report } from "./report.js";
import { cellNumbers, isPartial, numbersText, type Table, type TableCell, type TableRow } from "./table.js";
import type { TextTable } from "./text-table.js";
import { weightFigure } from "./weight-figure.js";
import { weightTable } from "./weight-table.js";

const style = `
:root { color-scheme: light dark; --ink: #1b1f24; --soft: #59636e; --line: #d1d9e0; --paper: #ffffff; --box: #f3f5f7; --good: #0b6e4f; --bad: #b42318; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --soft: #9aa5b1; --line: #363d46; --paper: #14181d; --box: #1f252c; --good: #5fd3a6; --bad: #ff8f80; } .figure > svg { filter: invert(0.91) hue-rotate(180deg); } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2rem 1.5rem 4rem; max-width: 84rem; background: var(--paper); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
h1 { margin: 0; font-size: 1.6rem; } h2 { margin: 2.4rem 0 .5rem; font-size: 1.2rem; }
p { margin: .3rem 0; max-width: 62rem; } .soft { color: var(--soft); }
.wide { overflow-x: auto; margin: .8rem 0; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .8rem; text-align: right; white-space: nowrap; border-bottom: 1px solid var(--line); }
th:first-child, table.words th, table.words td, table.left th, table.left td { text-align: left; } td .interval { display: inline-block; font-size: .86em; font-weight: 400; margin-left: .35rem; } table.words td { white-space: normal; vertical-align: top; }
thead th { border-top: 2px solid var(--ink); border-bottom: 1px solid var(--ink); } tbody tr:last-child > * { border-bottom: 2px solid var(--ink); }
tbody th { font-weight: 500; } td.best { font-weight: 700; } td.second { text-decoration: underline; text-underline-offset: 3px; }
tr.published > *, tr.difference > * { color: var(--soft); font-size: .92em; } tr.published th, tr.difference th { padding-left: 2rem; font-weight: 400; }
.holds { color: var(--good); } .fails, .smaller { color: var(--bad); }
sup { color: var(--soft); margin-left: .15rem; line-height: 0; }
ol.notes, ul { margin: .3rem 0; padding-left: 1.4rem; font-size: .9em; color: var(--soft); } li { overflow-wrap: anywhere; }
.figures { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 31rem), 1fr)); gap: 1rem; align-items: start; justify-items: start; } .figures.broad { grid-template-columns: 1fr; } .figure { background: #fff; border: 1px solid var(--line); border-radius: 6px; overflow: hidden; max-width: 100%; }
@media (prefers-color-scheme: dark) { .figure { background: var(--paper); } }
.figure svg { display: block; max-width: 100%; height: auto; }
`;

const POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:";

/** The page. */
export function toHtml(report: Report): string {
  const { tables, models, comparisons, claims, weights, influence, curves, outcome } = report;
  const charts = outcome.datasets.flatMap((dataset) => {
    const drawn = curveCharts(outcome, dataset, curves);
    const kind = drawn.some(({ apart }) => apart) ? "figures broad" : "figures";
    const svgs = drawn.map(({ svg }) => svg);
    return svgs.length === 0 ? [] : [`<h2>Curves: ${escapeXml(datasetTitle(dataset))}</h2>${figures(svgs, kind)}`];
  });
  const body = [
    `<h1>Report</h1><p class="soft">${new Set(outcome.runs.map(({ source }) => source)).size} runs on ${escapeXml(outcome.datasets.map(datasetTitle).join(", "))}. Selection: ${escapeXml(outcome.selection.title)}.</p>`,
    ...(tables.length === 0 ? protocolWords(outcome, outcome.datasets).map(wordsHtml) : tables.map(tableSection)),
    ...models.map((list) => textSection(modelTable(list), "")),
    ...comparisonSections(comparisons),
    ...(claims.length > 0 ? [claimsSection(report)] : []),
    ...weights.map((study) => textSection(weightTable(study), figures([weightFigure(study)], "figures broad"))),
    ...askedTables(report).map((table) => textSection(table, "")),
    ...influenceFigures(influence).map(({ svg }) => figures([svg], "figures broad")),
    ...(charts.length > 0 ? [...charts, wordsHtml(curveWords(outcome, curves))] : []),
    ...(outcome.notes.length > 0 ? [`<h2>Notes and exclusions</h2>${list("ul", outcome.notes)}`] : []),
  ];
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="${POLICY}"><title>NUDGE report</title><link rel="icon" href="data:,">
<style>${style}</style></head><body>
${body.join("\n")}
</body></html>
`;
}

function tableSection({ id, title, words, columns, rows, notes }: Table): string {
  const head = ["Algorithm", ...columns].map((heading) => `<th scope="col">${escapeXml(heading)}</th>`).join("");
  const body = rows.map(
    (row) =>
      `<tr class="${row.kind}"><th scope="row">${escapeXml(row.title)}</th>${row.cells.map((cell) => cellHtml(cell, row.kind)).join("")}</tr>`,
  );
  const about = [...words, "Bold: best; underlined: second best; (n/m): n of m trials."];
  return `<section id="${escapeXml(id)}"><h2>${escapeXml(title)}</h2>${about.map(wordsHtml).join("")}
<div class="wide"><table><thead><tr>${head}</tr></thead><tbody>${body.join("\n")}</tbody></table></div>${notes.length > 0 ? list("ol", notes) : ""}</section>`;
}

const wordsHtml = (line: string): string => `<p class="soft">${inWords(line)}</p>`;

/** A sentence in which text in backticks is code. */
const inWords = (line: string): string => escapeXml(line).replace(/`([^`]*)`/g, "<code>$1</code>");

function cellHtml(cell: TableCell, kind: TableRow["kind"]): string {
  const numbers = cellNumbers(cell, kind);
  const note = cell.note === null ? "" : `<sup>${cell.note}</sup>`;
  if (!numbers) return `<td>–${note}</td>`;
  const text = numbersText({ ...numbers, interval: "" });
  const interval = numbers.interval === "" ? "" : ` <span class="soft interval">(${numbers.interval})</span>`;
  const partial = isPartial(cell) ? ` (${cell.trials!.join("/")})` : "";
  return `<td${cell.mark ? ` class="${cell.mark}"` : ""}>${escapeXml(text)}${interval}${partial}${note}</td>`;
}

/** One figure for several comparisons; then each with its own, or, if there are many, the table of all. */
function comparisonSections(comparisons: readonly PairedComparison[]): string[] {
  const summary = comparisons.length > 1 ? figures([improvementSummary(comparisons)]) : "";
  const sections = comparisonTables(comparisons);
  if (areMany(comparisons)) return sections.map((table, i) => textSection(table, i === 0 ? summary : ""));
  const heading = summary === "" ? [] : [`<h2>${escapeXml(improvementTitle(comparisons))}</h2>${summary}`];
  return [...heading, ...sections.map((table, i) => textSection(table, figures([improvementChart(comparisons[i])])))];
}

function textSection({ title, words, head, rows, notes, align }: TextTable, figure: string): string {
  const body = rows.map(
    ([name, ...cells]) =>
      `<tr><th scope="row">${escapeXml(name)}</th>${cells.map((cell) => `<td>${escapeXml(cell)}</td>`).join("")}</tr>`,
  );
  return `<section><h2>${escapeXml(title)}</h2>${words.map(wordsHtml).join("")}
${figure}<div class="wide"><table${align ? ` class="${align}"` : ""}><thead><tr>${head.map((heading) => `<th scope="col">${escapeXml(heading)}</th>`).join("")}</tr></thead><tbody>${body.join("\n")}</tbody></table></div>${notes.length > 0 ? list("ul", notes) : ""}</section>`;
}

function claimsSection({ claims }: Report): string {
  const body = claims.map(({ claim, published, ours }) => {
    const cells = [published, ours].map(
      (verdict) => `<td class="${verdict.verdict.replace(" ", "-")}">${escapeXml(verdictText(verdict))}</td>`,
    );
    return `<tr><td>${escapeXml(claim)}</td>${cells.join("")}</tr>`;
  });
  const head = ["claim", "on the published numbers", "on these runs"].map(
    (heading) => `<th scope="col">${heading}</th>`,
  );
  return `<section id="claims"><h2>The paper's claims</h2><div class="wide"><table class="words"><thead><tr>${head.join("")}</tr></thead><tbody>${body.join("\n")}</tbody></table></div></section>`;
}

/** Figures side by side if there is room; wide ones below each other. */
const figures = (svgs: readonly string[], kind: "figures" | "figures broad" = "figures"): string =>
  `<div class="${kind}">${svgs.map((svg) => `<div class="figure">${svg}</div>`).join("\n")}</div>`;

function list(tag: "ol" | "ul", items: readonly string[]): string {
  const kind = tag === "ol" ? ' class="notes"' : "";
  return `<${tag}${kind}>${items.map((item) => `<li>${escapeXml(item)}</li>`).join("")}</${tag}>`;
}
