/** An inspection as one HTML page that needs nothing else: tables, what is wrong, and a contact sheet of samples. */
import { escapeXml } from "../drawing/svg.js";
import type { Inspection } from "./inspect.js";
import { duplicateGroups, groupText, headline, pictureRows } from "./inspect-text.js";
import type { ContactSheet, Thumbnail } from "./inspect-thumbnails.js";
import { countOf, showName } from "./show-name.js";

const number = (value: number): string => value.toLocaleString("en-US");
const text = (name: string): string => escapeXml(showName(name));

const style = `
:root { color-scheme: light dark; --ink: #1b1f24; --soft: #59636e; --line: #d1d9e0; --paper: #ffffff; --box: #f3f5f7; --heat: 0, 114, 178; --bad: #b42318; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --soft: #9aa5b1; --line: #363d46; --paper: #14181d; --box: #1f252c; --heat: 86, 180, 233; --bad: #ff8f80; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2rem 1.5rem 4rem; max-width: 92rem; background: var(--paper); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
h1 { margin: 0; font-size: 1.6rem; } h2 { margin: 2.2rem 0 .6rem; font-size: 1.15rem; }
p { margin: .3rem 0; } .soft { color: var(--soft); } .bad { color: var(--bad); }
.wide { overflow-x: auto; }
table { border-collapse: collapse; }
table.numbers td, table.numbers th { padding: .25rem .7rem; text-align: right; font-variant-numeric: tabular-nums; border-bottom: 1px solid var(--line); }
table.numbers th:first-child, table.numbers td.left { text-align: left; }
table.numbers tr.sum td, table.numbers tr.sum th, table.numbers .sum { font-weight: 600; }
ul { margin: .3rem 0; padding-left: 1.2rem; } li { overflow-wrap: anywhere; }
table.sheet { width: 100%; table-layout: fixed; }
table.sheet col:first-child { width: 9rem; }
table.sheet th { position: sticky; top: 0; background: var(--paper); text-align: left; padding: .4rem .6rem; z-index: 1; }
table.sheet tbody th { position: static; vertical-align: top; font-weight: 600; overflow-wrap: anywhere; }
table.sheet td { padding: .3rem .6rem .5rem; vertical-align: top; border-top: 1px solid var(--line); }
table.sheet tbody th { border-top: 1px solid var(--line); }
.cell { display: flex; flex-wrap: wrap; gap: 4px; }
.cell img, .cell span { width: 68px; height: 68px; background: var(--box); border: 1px solid var(--line); border-radius: 4px; }
.cell img { object-fit: contain; } .small img { image-rendering: pixelated; }
.cell span { display: grid; place-items: center; color: var(--bad); font-size: 11px; text-align: center; line-height: 1.2; }
`;

/** Counts, each cell tinted by its share of the largest one. */
function countTable({ domains, classes, counts, total }: Inspection): string {
  const largest = Math.max(...counts.flat(), 1);
  const cell = (count: number): string =>
    count === 0
      ? '<td class="bad">0</td>'
      : `<td style="background:rgba(var(--heat),${(0.32 * (count / largest)).toFixed(3)})">${number(count)}</td>`;
  const sum = (values: readonly number[]): number => values.reduce((all, each) => all + each, 0);
  const rows = classes.map((name, label) => {
    const cells = counts.map((row) => row[label]);
    return `<tr><th>${text(name)}</th>${cells.map(cell).join("")}<td class="sum">${number(sum(cells))}</td></tr>`;
  });
  const head = `<tr><th>class</th>${domains.map((name) => `<th>${text(name)}</th>`).join("")}<th>all</th></tr>`;
  const foot = `<tr class="sum"><th>all</th>${counts.map((row) => `<td>${number(sum(row))}</td>`).join("")}<td>${number(total)}</td></tr>`;
  return `<div class="wide"><table class="numbers"><thead>${head}</thead><tbody>${rows.join("")}${foot}</tbody></table></div>`;
}

function fileTable({ domains, pictures }: Inspection): string {
  if (!pictures) return "";
  const cells = (row: readonly string[], tag: "th" | "td"): string =>
    `<tr><th>${escapeXml(row[0])}</th>${row
      .slice(1)
      .map((cell) => `<${tag}>${escapeXml(cell)}</${tag}>`)
      .join("")}</tr>`;
  const [head, ...rows] = pictureRows(domains, pictures);
  const body = rows.map((row) => cells(row, "td")).join("");
  return `<h2>Files</h2><p class="soft">Sizes in pixels, as least … median … most where they differ.</p><div class="wide"><table class="numbers"><thead>${cells(head, "th")}</thead><tbody>${body}</tbody></table></div>`;
}

/** A list, cut where it would swamp the page. */
function list(items: readonly string[], most = 100): string {
  const left = items.length - most;
  const shown = items.slice(0, most).map((item) => `<li>${text(item)}</li>`);
  return `<ul>${shown.join("")}${left > 0 ? `<li class="soft">and ${number(left)} more</li>` : ""}</ul>`;
}

function findings({ problems, duplicates, pictures }: Inspection): string {
  if (!pictures) return "";
  const section = (heading: string, items: readonly string[]): string =>
    `<p class="bad">${escapeXml(heading)}:</p>${list(items)}`;
  const parts = duplicates
    ? duplicateGroups(duplicates).map(({ heading, groups }) => section(heading, groups.map(groupText)))
    : [];
  if (problems.length > 0)
    parts.unshift(
      section(
        `${countOf(problems.length, "file")} to look at`,
        problems.map(({ file, what }) => `${file}: ${what}`),
      ),
    );
  const sound = "<p>Nothing: every file looks sound, and no picture is there twice.</p>";
  return `<h2>What is wrong</h2>${parts.join("") || sound}`;
}

function image({ name, uri, problem }: Thumbnail): string {
  const title = text(name);
  if (uri) return `<img src="${uri}" alt="${title}" title="${title}" loading="lazy">`;
  return `<span title="${title}: ${text(problem ?? "")}">cannot be shown</span>`;
}

function sheetTable({ domains, classes, counts, inputShape, kind }: Inspection, sheet: ContactSheet): string {
  const head = `<tr><th></th>${domains.map((name) => `<th>${text(name)}</th>`).join("")}</tr>`;
  const rows = sheet.map((row, label) => {
    const cells = row.map((thumbnails, d) => {
      const content = thumbnails.map(image).join("") || '<span title="no samples">none</span>';
      return `<td><div class="cell" title="${number(counts[d][label])}">${content}</div></td>`;
    });
    return `<tr><th>${text(classes[label])}</th>${cells.join("")}</tr>`;
  });
  const small = kind === "arrays" && inputShape[1] < 68 ? " small" : "";
  return `<h2>Samples</h2><p class="soft">Spread evenly over each class of each domain.</p><table class="sheet${small}"><colgroup><col>${domains.map(() => "<col>").join("")}</colgroup><thead>${head}</thead><tbody>${rows.join("")}</tbody></table>`;
}

/** The page. */
export function inspectionHtml(inspection: Inspection, sheet: ContactSheet | null): string {
  const { title, notes } = inspection;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${text(title)}</title>
<style>${style}</style>
</head>
<body>
<h1>${text(title)}</h1>
<p class="soft">${text(headline(inspection))}</p>
<h2>Samples of each class and domain</h2>
${countTable(inspection)}
${fileTable(inspection)}
${findings(inspection)}
${notes.length > 0 ? `<h2>Notes</h2>${list(notes)}` : ""}
${sheet ? sheetTable(inspection, sheet) : ""}
</body>
</html>
`;
}
