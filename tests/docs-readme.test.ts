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
  const [, ...cells] = rowOf(readme, title);
  expect(cells.slice(0, -1)).toEqual(made);
});

test.each([
  ["ERM-NU", "ERM"],
  ["SWAD-NU", "SWAD"],
])("the README's %s − %s is that of the results", (title, other) => {
  const [, compared] = results.split(`### ${title} against ${other}, pair by pair`);
  const [, difference, interval] = rowOf(compared, "PACS, 4 of 4 domains");
  expect(rowOf(readme, title).at(-1)).toBe(`${difference} (${interval})`);
});

test("what the README says of features is in the results", () => {
  const [, table] = results.split("### Features on PACS");
  const [erm, nu] = ["ERM", "ERM-NU"].map((title) => rowOf(table, title)); // the first row of each is of training domains
  expect(readme.replaceAll(/\s+/g, " ")).toContain(
    `\`‖F‖_F\` from ${erm[3]} to ${nu[3]}, while their stable rank rises from ${erm[4]} to ${nu[4]}`,
  );
});
