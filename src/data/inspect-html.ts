/** An inspection as one HTML page: tables, problems, and a contact sheet of samples. */
import { basename, resolve } from "node:path";
import { list as htmlList, htmlPage, remark, section } from "../drawing/page.js";
import { escapeXml } from "../drawing/svg.js";
import type { Inspection } from "./inspect.js";
import {
  duplicateGroups,
  groupText,
  headline,
  nearDuplicatesHeading,
  nearDuplicatesText,
  pictureRows,
} from "./inspect-text.js";
import type { ContactSheet, Thumbnail } from "./inspect-thumbnails.js";
import { isOwnDataset } from "./own-dataset.js";
import { countOf, showName } from "./show-name.js";

const number = (value: number): string => value.toLocaleString("en-US");
const text = (name: string): string => escapeXml(showName(name));

/** Counts, with each cell shaded by its fraction of the largest. */
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
  return `<div class="wide"><table><thead>${head}</thead><tbody>${rows.join("")}${foot}</tbody></table></div>`;
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
  return section(
    "Files",
    remark("Sizes in pixels: smallest … median … largest where they differ."),
    `<div class="wide"><table><thead>${cells(head, "th")}</thead><tbody>${body}</tbody></table></div>`,
  );
}

/** A list that is shortened if it is very long. */
function list(items: readonly string[], most = 100): string {
  const left = items.length - most;
  return htmlList([...items.slice(0, most).map(showName), ...(left > 0 ? [`and ${number(left)} more`] : [])]);
}

function findings({ problems, duplicates, nearDuplicates, pictures }: Inspection): string {
  if (!pictures) return "";
  const finding = (heading: string, items: readonly string[]): string =>
    `<p class="bad">${escapeXml(heading)}:</p>${list(items)}`;
  const parts = duplicates
    ? duplicateGroups(duplicates).map(({ heading, groups }) => finding(heading, groups.map(groupText)))
    : [];
  if (nearDuplicates && nearDuplicates.length > 0)
    parts.push(finding(nearDuplicatesHeading(nearDuplicates), nearDuplicates.map(nearDuplicatesText)));
  if (problems.length > 0)
    parts.unshift(
      finding(
        `${countOf(problems.length, "file")} to check`,
        problems.map(({ file, what }) => `${file}: ${what}`),
      ),
    );
  return section("Problems", parts.join("") || "<p>None: every file looks intact, and there are no duplicates.</p>");
}

function image({ name, uri, problem }: Thumbnail): string {
  const title = text(name);
  if (uri) return `<img src="${uri}" alt="${title}" title="${title}" loading="lazy">`;
  return `<span class="none" title="${title}: ${text(problem ?? "")}">cannot be shown</span>`;
}

function sheetTable({ domains, classes, counts, inputShape, kind }: Inspection, sheet: ContactSheet): string {
  const head = `<tr><th></th>${domains.map((name) => `<th>${text(name)}</th>`).join("")}</tr>`;
  const rows = sheet.map((row, label) => {
    const cells = row.map((thumbnails, d) => {
      const content = thumbnails.map(image).join("") || '<span class="none" title="no samples">none</span>';
      return `<td><div class="cell" title="${number(counts[d][label])}">${content}</div></td>`;
    });
    return `<tr><th>${text(classes[label])}</th>${cells.join("")}</tr>`;
  });
  const small = kind === "arrays" && inputShape[1] < 68 ? " small" : "";
  const columns = domains.map(() => "<col>").join("");
  return section(
    "Pictures",
    remark("Evenly chosen from each class of each domain."),
    `<div class="wide"><table class="sheet${small}"><colgroup><col>${columns}</colgroup><thead>${head}</thead><tbody>${rows.join("")}</tbody></table></div>`,
  );
}

/** The page. */
export function inspectionHtml(inspection: Inspection, sheet: ContactSheet | null): string {
  const { title, notes, credits, root, id } = inspection;
  return htmlPage({
    title: showName(isOwnDataset(id) && root !== null ? basename(resolve(root)) : title),
    subtitle: showName(headline(inspection)),
    parts: [
      section("Pictures of each class and domain", countTable(inspection)),
      findings(inspection),
      section("Notes", list(notes)),
      credits.length > 0 ? section("Authors and licences", list(credits)) : "",
      fileTable(inspection),
      sheet ? sheetTable(inspection, sheet) : "",
    ],
  });
}
