import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { pacsDomains, writeMadeRun } from "../../tests/support/report-runs.js";
import { inFolder } from "../../tests/support/run-folders.js";
import { keyedRandom } from "../engine/philox.js";
import { type Residuals, simulate } from "./coverage.js";
import { toMarkdown } from "./markdown.js";
import { readResults } from "./read-results.js";
import { makeReport } from "./report.js";

/** Residuals of 40 methods in 50 trials of two domains. */
function residualsOf(draw: (random: ReturnType<typeof keyedRandom>) => number): Residuals {
  const random = keyedRandom(1, "test");
  return Array.from({ length: 40 }, () =>
    [0, 1].map(() => {
      const values = Array.from({ length: 50 }, () => draw(random));
      const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
      return values.map((value) => value - mean);
    }),
  );
}

test("with normal residuals the t interval covers 95 %, and 1.96 standard errors of three trials 81 %", () => {
  const residuals = residualsOf((random) => random.normal());
  for (const of of ["mean", "one"] as const)
    for (const { trials, t, normal } of simulate(residuals, of)) {
      expect(Math.abs(t - 0.95)).toBeLessThan(0.01);
      if (trials === 3) expect(Math.abs(normal - 0.811)).toBeLessThan(0.015); // P(|T| ≤ 1.96) with two degrees of freedom
    }
});

test("two values are not covered: three of them are equal one time in four, and the simulation says so", () => {
  const [three, five] = simulate([[[1, -1]], [[-1, 1]]], "one");
  expect(Math.abs(three.t - 3 / 4)).toBeLessThan(0.015);
  expect(Math.abs(five.t - 15 / 16)).toBeLessThan(0.015);
});

test("the kept studies cover 93 to 97 % over domains at 3, 5 and 10 trials, as docs/statistics.md prints", () => {
  const page = readFileSync(new URL("../../docs/statistics.md", import.meta.url), "utf8");
  const rows = page.match(/^\| .+ domains?, .+\|$/gm)!.map((line) => line.split("|").map((cell) => cell.trim()));
  expect(rows.length).toBeGreaterThanOrEqual(8);
  for (const [, title, , ...shares] of rows) {
    const [t, normal] = [shares.slice(0, 3).map(Number), shares.slice(3, 6).map(Number)];
    const most = title.includes("mean over") ? 97 : 97.5; // slightly higher on one domain, because the noise of methods differs
    for (const share of t) expect(share, title).toBeGreaterThanOrEqual(93);
    for (const share of t) expect(share, title).toBeLessThanOrEqual(most);
    expect(normal[0], title).toBeLessThan(87);
  }
});

test("a report has it on request, by the methods that have every run", () => {
  const text = inFolder((folder) => {
    ["erm", "irm", "vrex", "mtl", "sam", "coral", "mmd"].forEach((algorithm, m) => {
      for (const heldOut of pacsDomains)
        for (const trial of [0, 1, 2]) {
          if (algorithm === "mmd" && trial === 2) continue;
          const accuracy = 0.6 + 0.01 * m + 0.01 * ((m * 7 + trial * (m + 3)) % 5);
          writeMadeRun(`${folder}/${algorithm}`, { heldOut, trial, accuracy, settings: { algorithm } });
        }
    });
    const results = readResults([folder]);
    expect(makeReport(results).coverage).toEqual([]);
    return toMarkdown(makeReport(results, { coverage: true }));
  });
  expect(text).toContain("## Coverage of the 95% intervals");
  expect(text).toMatch(/^\| PACS, mean over 4 domains, chosen steps +\| +6 × 3 \|/m);
});
