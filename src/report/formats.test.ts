import { expect, test } from "vitest";
import { makeRun } from "../../tests/support/evaluated-runs.js";
import { writePacsSweep } from "../../tests/support/report-runs.js";
import { inFolder } from "../../tests/support/run-folders.js";
import { toCsv } from "./csv.js";
import { toHtml } from "./html.js";
import { toJson } from "./json.js";
import { escapeLatex, toLatex } from "./latex.js";
import { toMarkdown } from "./markdown.js";
import { readResults } from "./read-results.js";
import { makeReport, type Report } from "./report.js";

/** Names with special characters. */
const hostile = '<script>alert("1")</script>|*&_%$#{}\\~^`=1+1';
const hostileReport = (): Report => {
  const at = { [hostile]: [0.5, 0.5], b: [0.4, 0.4] } as const;
  const run = makeRun([hostile], [at, at], { algorithm: hostile, domains: [hostile, "b"], dataset: hostile });
  return makeReport({ runs: [run], stored: [], notes: [`${hostile}\nsecond line`] }, { claims: true });
};

const pacsReport = (): Report =>
  inFolder((folder) => {
    writePacsSweep(folder);
    return makeReport(readResults([folder]), { claims: true, published: true });
  });

test("LaTeX has booktabs rules, the best in bold and the second underlined", () => {
  const latex = toLatex(pacsReport());
  expect(latex).toContain("\\toprule\n\\textbf{Algorithm} & \\textbf{A} & \\textbf{C}");
  expect(latex).toContain("ERM & \\underline{81.0 $\\pm$ 0.5} & ");
  expect(latex).toContain("ERM-NU & \\textbf{82.0 $\\pm$ 0.7} & ");
  expect(latex).toContain("\\quad\\textit{ours $-$ published} & $-$3.7 & ");
  for (const name of ["table", "tabular"])
    expect(latex.split(`\\begin{${name}}`).length).toBe(latex.split(`\\end{${name}}`).length);
});

test("captions have two lines, and the protocol is in a note below the table", () => {
  const captions = Array.from(toLatex(pacsReport()).matchAll(/\\caption\{(.*)\}$/gm), ([, caption]) => caption);
  expect(captions).toHaveLength(2);
  for (const caption of captions) expect(caption.length).toBeLessThan(200);
  expect(captions[0]).toBe("PACS. The best is bold, the second best underlined; (n/m): n of m trials.");
  const latex = toLatex(pacsReport());
  expect(latex).toMatch(
    /\\end\{tabular\}\n(.*\n)*\\par\{\\footnotesize Note: Selection: training-domain .* Protocol: each domain/,
  );
});

test("LaTeX's own characters lose their power", () => {
  expect(escapeLatex("a_b & 5% of $x #1 {y} \\z ~ ^")).toBe(
    "a\\_b \\& 5\\% of \\$x \\#1 \\{y\\} \\textbackslash{}z \\textasciitilde{} \\textasciicircum{}",
  );
  expect(escapeLatex("nudge train --data pacs")).toBe("nudge train -{}-data pacs");
  expect(toLatex(hostileReport())).not.toMatch(/[^\\][%#_]\w*</);
});

test("a page has no script, no request, and no name of a folder read as markup", () => {
  for (const report of [pacsReport(), hostileReport()]) {
    const html = toHtml(report);
    expect(html).not.toMatch(/<script|<link(?! rel="icon" href="data:,")|<img|<iframe|@import|url\(/i);
    const addresses = (html.match(/https?:[^"' <]*/g) ?? []).filter((found) => found !== "http://www.w3.org/2000/svg");
    expect(addresses).toEqual([]);
    expect(html).toContain("default-src 'none'");
  }
});

test("a page has every table, comparison, claim and curve", () => {
  const html = toHtml(pacsReport());
  expect(html.match(/<table/g)).toHaveLength(3);
  expect(html.match(/class="figure"/g)).toHaveLength(1 + 4); // improvement, and a chart for each held-out domain
  expect(html).toContain('<td class="best">82.0 ± 0.7</td>');
  expect(html).toContain('<td class="holds">holds: 49.6 − 46.1 = +3.5</td>');
  expect(html).toContain("prefers-color-scheme: dark");
  expect(html).toContain(".figure > svg { filter: invert"); // only once, because panels are nested SVG elements
});

test("CSV has a line a cell with fractions, quoted where it must be", () => {
  const lines = toCsv(pacsReport()).split("\r\n");
  expect(lines[0]).toBe(
    "table,selection,method,row,column,mean,standard_error,trials,of_trials,note,low,high,pictures,trial,step,draw,validation,hparams,run",
  );
  expect(lines).toHaveLength(1 + 2 * 3 * 5 + 2 * 4 * 3 + 1); // cells of three kinds of rows; methods × domains × trials
  expect(lines[6]).toBe(
    "pacs,training-domain,ERM,published,A,0.847,0.004,,,published: DomainBed (Gulrajani & Lopez-Paz 2021); tab:pacs,,,,,,,,,",
  );
  expect(toCsv(hostileReport())).toContain('"<script>alert(""1"")</script>');
});

test("JSON is the report's data, and values that are not finite are null", () => {
  const at = { a: [Number.NaN, 0.5], b: [0.4, 0.4], c: [0, 0] } as const;
  const report = makeReport({ runs: [makeRun(["a"], [at])], stored: [], notes: [] });
  const parsed = JSON.parse(toJson(report));
  expect(Object.keys(parsed)).toEqual(["format", "selection", "tables", "chosen", "comparisons", "claims", "notes"]);
  expect(parsed.tables[0].rows[0].cells[0]).toMatchObject({ mean: null, trials: [1, 1] });
  expect(toMarkdown(report)).toContain("nan");
  expect(toHtml(report)).toContain("nan"); // the curves omit the point
});

test("names cannot break out of a Markdown table", () => {
  for (const line of toMarkdown(hostileReport()).split("\n"))
    if (/^\| (?!-)/.test(line)) expect(line).not.toMatch(/[^\\]<script/);
  const [head, , row] = toMarkdown(hostileReport())
    .split("\n")
    .filter((line) => line.startsWith("|"));
  const columns = (line: string): number => line.replaceAll("\\|", "").split("|").length;
  expect(columns(row)).toBe(columns(head));
});
