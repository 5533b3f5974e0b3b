/**
 * A report as one HTML file without external resources: tables, verdicts, paired differences and curves as inline SVG,
 * in light and dark mode. It has no scripts, and its content security policy forbids all requests.
 */

import { countOf } from "../data/show-name.js";
import { htmlPage } from "../drawing/page.js";
import { escapeXml } from "../drawing/svg.js";
import { verdictText } from "../paper/claims.js";
import { datasetTitle } from "../settings/names.js";
import { askedTables } from "./asked-tables.js";
import { areMany, comparisonTables } from "./comparison-table.js";
import { curveCharts, curveWords } from "./curves.js";
import { equivalenceFigure } from "./equivalence-figure.js";
import { improvementChart, improvementSummary, improvementTitle } from "./improvement.js";
import { influenceFigures } from "./influence-figure.js";
import { modelTable } from "./model-list.js";
import { protocolWords } from "./protocol.js";
import type { Report } from "./report.js";
import { cellNumbers, isPartial, numbersText, type Table, type TableCell, type TableRow } from "./table.js";
import type { TextTable } from "./text-table.js";
import { weightFigure } from "./weight-figure.js";
import { weightTable } from "./weight-table.js";

/** The rules of tables of results, in addition to those of every page. */
const style = `
:root { --good: #0b6e4f; } @media (prefers-color-scheme: dark) { :root { --good: #5fd3a6; } }
p { max-width: 62rem; }
table.words th, table.words td, table.left th, table.left td { text-align: left; } table.words td { white-space: normal; vertical-align: top; min-width: 9rem; }
td .interval { display: inline-block; font-size: .86em; font-weight: 400; margin-left: .35rem; }
thead th { border-top: 2px solid var(--ink); } tbody tr:last-child > * { border-bottom: 2px solid var(--ink); }
td.best { font-weight: 700; } td.second { text-decoration: underline; text-underline-offset: 3px; }
tr.published > *, tr.difference > * { color: var(--soft); font-size: .92em; } tr.published th, tr.difference th { padding-left: 2rem; font-weight: 400; }
.holds { color: var(--good); } .fails, .smaller { color: var(--bad); }
sup { color: var(--soft); margin-left: .15rem; line-height: 0; }
ol.notes, ul { margin: .3rem 0; padding-left: 1.4rem; font-size: .9em; color: var(--soft); } li { overflow-wrap: anywhere; }
.figures { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 31rem), 1fr)); justify-items: start; } .figures.broad { grid-template-columns: 1fr; }
@media (max-width: 34rem) {
  table.words :is(tbody, tr, td) { display: block; width: 100%; } table.words thead { display: none; } table.words td { border: 0; } table.words td:first-child { font-weight: 600; }
  table.words td:nth-child(2)::before { content: "published numbers: "; } table.words td:nth-child(3)::before { content: "these runs: "; }
}
`;

/** The page. */
export function toHtml(report: Report): string {
  const { tables, models, claims, weights, influence, curves, outcome } = report;
  const charts = outcome.datasets.flatMap((dataset) => {
    const drawn = curveCharts(outcome, dataset, curves);
    const kind = drawn.some(({ apart }) => apart) ? "figures broad" : "figures";
    const svgs = drawn.map(({ svg }) => svg);
    return svgs.length === 0 ? [] : [`<h2>Curves: ${escapeXml(datasetTitle(dataset))}</h2>${figures(svgs, kind)}`];
  });
  const body = [
    ...(tables.length === 0 ? protocolWords(outcome, outcome.datasets).map(wordsHtml) : tables.map(tableSection)),
    ...models.map((list) => textSection(modelTable(list), "")),
    ...comparisonSections(report),
    ...(claims.length > 0 ? [claimsSection(report)] : []),
    ...weights.map((study) => textSection(weightTable(study), figures([weightFigure(study)], "figures broad"))),
    ...askedTables(report).map((table) => textSection(table, "")),
    ...influenceFigures(influence).map(({ svg }) => figures([svg], "figures broad")),
    ...(charts.length > 0 ? [...charts, wordsHtml(curveWords(outcome, curves))] : []),
    ...(outcome.notes.length > 0 ? [`<h2>Notes and exclusions</h2>${list("ul", outcome.notes)}`] : []),
  ];
  const runs = new Set(outcome.runs.map(({ source }) => source)).size;
  return htmlPage({
    title: "NUDGE report",
    subtitle: `${countOf(runs, "run")} on ${outcome.datasets.map(datasetTitle).join(", ")}. Selection: ${outcome.selection.title}.`,
    style,
    parts: body,
  });
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

/** One figure for several comparisons and one of their tests; then each with its own, or, if there are many, the table of all. */
function comparisonSections({ comparisons, equivalence }: Report): string[] {
  const forest = equivalence && equivalenceFigure(equivalence);
  const drawn = [...(comparisons.length > 1 ? [improvementSummary(comparisons)] : []), ...(forest ? [forest] : [])];
  const summary = drawn.length > 0 ? figures(drawn) : "";
  const sections = comparisonTables(comparisons, equivalence !== null);
  if (areMany(comparisons) && !equivalence)
    return sections.map((table, i) => textSection(table, i === 0 ? summary : ""));
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
