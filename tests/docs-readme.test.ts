/** The README: its length, its order, its version, and its result table, which must agree with docs/results/pacs.md (`npm run results`). */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { algorithms } from "../src/algorithms/index.js";

const read = (name: string): string => readFileSync(join(import.meta.dirname, "..", name), "utf8");

/** The cells of the first table row of a page that begins so, without marks and odd spaces. */
function rowOf(page: string, title: string): string[] {
  const plain = page.replaceAll("\u00a0", " ").replaceAll("\u2011", "-");
  const line = plain.split("\n").find((each) => each.startsWith(`| ${title} `));
  expect(line, `there is no row ${title}`).toBeDefined();
  const cells = line!.split("|").slice(1, -1);
  return cells.map((cell) => cell.replaceAll(/[*_]/g, "").trim());
}

const [readme, results] = [read("README.md"), read("docs/results/pacs.md")];

test.each(["ERM-NU − ERM", "SWAD-NU − SWAD"])("the README's %s of all trials is that of the results", (title) => {
  const all = results.split("\n").find((line) => line.startsWith(`| ${title} | **all trials**`));
  const [, , , trials, selected, late] = all!
    .split("|")
    .slice(1, -1)
    .map((cell) => cell.trim());
  expect(rowOf(readme, `${title}, all trials`).slice(1)).toEqual([trials, selected, late]);
});

test("the features described in docs/results.md are those of the table", () => {
  const [, table] = results.split("### Features on PACS");
  const [erm, nu] = ["ERM", "ERM-NU"].map((title) => rowOf(table, title)); // the first row of each is of training domains
  expect(read("docs/results.md").replaceAll(/\s+/g, " ")).toContain(
    `\`‖F‖_F\` falls from ${erm[3]} to ${nu[3]}, while their stable rank rises from ${erm[4]} to ${nu[4]}`,
  );
});

test("the README has at most 1,500 words, and its sections are in order", () => {
  expect(readme.split(/\s+/).length).toBeLessThanOrEqual(1500);
  expect(Array.from(readme.matchAll(/^## (.+)$/gm), ([, title]) => title)).toEqual([
    "Install",
    "One minute on generated pictures",
    "Your own pictures",
    "Your first sweep",
    "The penalty in your own code",
    "Where to go next",
    "Cite",
    "License",
  ]);
});

test("the number of algorithms in the README is correct", () => {
  expect(readme).toContain(`${Object.keys(algorithms).length} algorithms`);
});

test("package.json, CITATION.cff, the README and the changelog have the same version", () => {
  const { version } = JSON.parse(read("package.json"));
  expect(read("CITATION.cff")).toContain(`\nversion: ${version}\n`);
  expect(readme).toContain(`nudge-dg-${version}.tgz`);
  expect(/^## \[(\d+\.\d+\.\d+)\]/m.exec(read("CHANGELOG.md"))?.[1]).toBe(version);
});
