import { join } from "node:path";
import { expect, test } from "vitest";
import { pacsDomains, vlcsDomains, writeMadeRun } from "../../tests/support/report-runs.js";
import { inFolder } from "../../tests/support/run-folders.js";
import { comparisonTables } from "./comparison-table.js";
import { reportFigures } from "./figures.js";
import { toHtml } from "./html.js";
import { toJson } from "./json.js";
import { toLatex } from "./latex.js";
import { toMarkdown } from "./markdown.js";
import { readResults } from "./read-results.js";
import { makeReport, type Report, type ReportOptions } from "./report.js";

/**
 * Accuracies in percent by trial, equal on all domains. IRM is better than ERM, VREx is worse, and MTL varies. CORAL is
 * better in all three trials and by its own interval, but not after the correction. The differences of SAM are all equal.
 */
const ACCURACIES = {
  erm: [70, 72, 71],
  irm: [71.5, 73.5, 72.6],
  vrex: [68.5, 70.5, 69.6],
  mtl: [71, 71, 71],
  sam: [70, 72, 71],
  coral: [70.5, 72.9, 71.6],
};

function reportOn(options: ReportOptions, more: Readonly<Record<string, readonly string[]>> = {}): Report {
  return inFolder((folder) => {
    for (const [algorithm, accuracies] of Object.entries(ACCURACIES))
      for (const [dataset, domains] of Object.entries({ pacs: pacsDomains, ...more }))
        for (const heldOut of domains)
          for (const [trial, accuracy] of accuracies.entries())
            writeMadeRun(join(folder, algorithm), {
              ...{ dataset, domains, heldOut, trial, settings: { algorithm } },
              accuracy: accuracy / 100,
            });
    return makeReport(readResults([folder]), options);
  });
}

test("many comparisons are one table, a row a method, and say who is ahead by more than chance", () => {
  const { comparisons } = reportOn({ against: "erm" });
  const [{ title, head, rows, words, notes }, ...others] = comparisonTables(comparisons);
  expect(others).toEqual([]);
  expect(title).toBe("All against ERM, pair by pair");
  expect(head).toEqual(["method", "held out", "difference", "95% interval", "trials", "p", "Holm", "verdict"]);
  const whole = "PACS, 4 of 4 domains";
  expect(rows).toEqual([
    ["IRM", whole, "+1.5", "+1.4 … +1.7", "3", "<0.001", "0.002", "ahead"],
    ["VREx", whole, "-1.5", "-1.6 … -1.3", "3", "<0.001", "0.002", "behind"],
    ["MTL", whole, "0.0", "-2.5 … +2.5", "3", "1.000", "1.000", "open"],
    ["CORAL", whole, "+0.7", "+0.1 … +1.2", "3", "0.031", "0.093", "open"],
    ["SAM", whole, "0.0", "– (all trials are equal)", "3", "–", "–", "open"],
  ]);
  expect(notes).toEqual([
    "SAM − ERM, PACS A; PACS C; PACS P; PACS S; PACS, 4 of 4 domains: the differences of all 3 trials are equal, so their spread is not known and there is no interval",
  ]);
  expect(words[1]).toContain("Holm: corrected for the number of rows of this table");
});

test("over several datasets each has its row, and then the mean", () => {
  const { comparisons } = reportOn({ against: "ERM" }, { vlcs: vlcsDomains });
  const [{ rows }] = comparisonTables(comparisons);
  expect(rows.filter(([method]) => method === "IRM").map(([, held]) => held)).toEqual([
    "VLCS, 4 of 4 domains",
    "PACS, 4 of 4 domains",
    "mean over 2 datasets",
  ]);
});

test("pairs that were asked for are one table too where they are many, each with its own other method", () => {
  const pairs = [
    ["irm", "erm"],
    ["vrex", "irm"],
    ["mtl", "erm"],
    ["sam", "mtl"],
    ["coral", "sam"],
  ] as const;
  const { comparisons } = reportOn({ compare: pairs });
  const [{ title, head, rows }] = comparisonTables(comparisons);
  expect([title, head[0]]).toEqual(["Methods compared, pair by pair", "methods"]);
  expect(rows.map(([name]) => name)).toEqual(["IRM − ERM", "VREx − IRM", "MTL − ERM", "SAM − MTL", "CORAL − SAM"]);
});

test("a few comparisons have a table each, by domain", () => {
  const { comparisons } = reportOn({ compare: [["irm", "vrex"]] });
  const [{ title, rows }] = comparisonTables(comparisons);
  expect(title).toBe("IRM against VREx, pair by pair");
  expect(rows.map(([held, difference]) => [held, difference])).toEqual([
    ...["A", "C", "P", "S"].map((label) => [`PACS ${label}`, "+3.0"]),
    ["PACS, 4 of 4 domains", "+3.0"],
  ]);
});

test("a few comparisons have p, Holm's p for all of them, and a verdict, as many comparisons do", () => {
  const pairs = [
    ["irm", "erm"],
    ["coral", "erm"],
    ["mtl", "erm"],
  ] as const;
  const { comparisons } = reportOn({ compare: pairs });
  const tables = comparisonTables(comparisons);
  expect(tables.map(({ head }) => head.slice(2))).toEqual(
    Array(3).fill(["95% interval", "trials", "p", "Holm", "verdict"]),
  );
  // The interval of CORAL excludes zero, and with three comparisons its p-value is three times, or twice, as large.
  expect(tables.map(({ rows }) => rows.at(-1)!.slice(2))).toEqual([
    ["+1.4 … +1.7", "3", "<0.001", "0.001", "ahead"],
    ["+0.1 … +1.2", "3", "0.031", "0.062", "open"],
    ["-2.5 … +2.5", "3", "1.000", "1.000", "open"],
  ]);
  expect(tables[0].words[1]).toContain("Holm: corrected for all comparisons of this report");
  const [{ rows }] = JSON.parse(toJson(reportOn({ compare: pairs }))).comparisons;
  expect(rows.at(-1)).toMatchObject({ p: expect.closeTo(0.0005, 3), corrected: expect.closeTo(0.0015, 3) });
});

test("every format has the one table, and figures have one in the place of one for each pair", () => {
  const report = reportOn({ against: "ERM", only: ["pairs"] });
  expect(toMarkdown(report)).toMatch(/^\| IRM +\| PACS, 4 of 4 domains \| +\+1\.5 \|.*\| +ahead \|$/m);
  expect(toLatex(report)).toContain("IRM & PACS, 4 of 4 domains & +1.5 &");
  const html = toHtml(report);
  expect(html.match(/<section>/g)).toHaveLength(1);
  expect(html).toContain("<h2>All against ERM, pair by pair</h2>");
  const figures = reportFigures(report);
  expect(figures.map(({ name }) => name)).toEqual(["improvement"]);
  expect(figures[0].svg).toContain("Compared with ERM, points of accuracy");
});

test("where equivalence is tested, many comparisons are in the tables of the tests and nowhere else", () => {
  const report = reportOn({ against: "ERM", equivalence: 0.005, only: ["pairs"] });
  const titles = [...toMarkdown(report).matchAll(/^## (.+)$/gm)].map(([, title]) => title);
  expect(titles).toEqual(["Superiority, and equivalence within ±0.5 points: chosen steps"]);
  expect(toMarkdown(report)).toMatch(/^\| IRM +\| PACS, 4 of 4 domains \| +\+1\.53 \| +3 \| +superior \|/m);
  expect(toHtml(report)).toContain("<h2>Compared with ERM</h2>");
  // The differences of SAM are 0 in all trials, which shows neither a difference nor equivalence.
  expect(toMarkdown(report)).toMatch(/^\| SAM +\| PACS, 4 of 4 domains \| +0\.00 \| +3 \| +undecided \| +– \| +– \|/m);
  expect(toMarkdown(report)).toContain("the differences of all 3 trials are equal, so their spread is not known");
  const sam = report.equivalence?.rows.find(({ first }) => first === "SAM");
  const unknown = { interval: null, p: null, corrected: null };
  expect(sam).toMatchObject({ ...unknown, inside: false, superiority: unknown, verdict: "undecided" });
});

test("an unknown method is an error that suggests the nearest name", () => {
  expect(() => reportOn({ against: "EMR" })).toThrow('did you mean "ERM"?');
});
