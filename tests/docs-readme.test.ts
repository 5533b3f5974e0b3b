/** The README's result table says what docs/results.md says, which `npm run results` makes from the records. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const read = (name: string): string => readFileSync(join(import.meta.dirname, "..", name), "utf8");

/** The cells of the first table row of a page that begins so, without marks and odd spaces. */
function rowOf(page: string, title: string): string[] {
  const plain = page.replaceAll("\u00a0", " ").replaceAll("\u2011", "-");
  const line = plain.split("\n").find((each) => each.startsWith(`| ${title} `));
  expect(line, `there is no row ${title}`).toBeDefined();
  const cells = line!.split("|").slice(1, -1);
  return cells.map((cell) => cell.replaceAll(/[*_]/g, "").trim());
}

const [readme, results] = [read("README.md"), read("docs/results.md")];

test.each(["ERM", "ERM-NU", "SWAD", "SWAD-NU"])("the README's row of %s is that of the results", (title) => {
  const [, ...made] = rowOf(results, title);
  // Partial cells, `73.8 ± 0.8 (2/3) [1]`, and averages with one in them, `81.1 [2]`, have a ¹.
  const expected = made.map((cell) => cell.replace(/( \(\d+\/\d+\))?( \[\d+\])?$/, (note) => (note === "" ? "" : "¹")));
  const [, ...cells] = rowOf(readme, title);
  expect(cells.slice(0, -1)).toEqual(expected);
});

test.each([
  ["ERM-NU", "ERM"],
  ["SWAD-NU", "SWAD"],
])("the README's %s − %s is that of the results", (title, other) => {
  const [, compared] = results.split(`### ${title} against ${other}, pair by pair`);
  const [, difference, interval] = rowOf(compared, "PACS, 4 of 4 domains");
  expect(rowOf(readme, title).at(-1)).toBe(`${difference} (${interval})`);
});

test("the README says how many of the runs are done, until all are", () => {
  const [partial] = results.match(/\d+ of \d+(?= planned runs are done)/) ?? [];
  if (partial === undefined) expect(readme).not.toContain("runs so far");
  else expect(readme).toContain(`${partial} runs so far`);
});
