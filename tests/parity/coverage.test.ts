/** docs/algorithms.md says which stored numbers each algorithm is compared with; the vectors have exactly those. */

import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { algorithms } from "../../src/algorithms/index.js";
import { openWeights } from "../../src/engine/open-weights.js";

const path = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

/** The algorithms of the cases in a file of vectors. */
function algorithmsIn(vectors: string): Set<string> {
  const { metadata } = openWeights(path(`../vectors/${vectors}.safetensors`));
  const cases = metadata["nudge-parity"] ? JSON.parse(metadata["nudge-parity"]).cases : JSON.parse(metadata.cases);
  return new Set(Object.values<{ algorithm: string }>(cases).map(({ algorithm }) => algorithms[algorithm].title));
}

/** The methods of the rows of the table that name a script. */
function listedFor(script: string): Set<string> {
  const rows = readFileSync(path("../../docs/algorithms.md"), "utf8").split("\n");
  const row = rows.filter((line) => line.startsWith("|") && line.includes(`\`${script}.py\``));
  return new Set(row.flatMap((line) => line.split("|").at(-2)!.trim().split(", ")));
}

const SCRIPTS = ["parity_domainbed", "parity_formulas", "algorithms_updates", "algorithms_losses"];

test.each(SCRIPTS)("the docs list the algorithms of %s", (script) => {
  expect(listedFor(script)).toEqual(algorithmsIn(script));
});

test("every algorithm but ERM, whose parts are compared, is in one of them", () => {
  const all = new Set(SCRIPTS.flatMap((script) => [...algorithmsIn(script)]));
  expect(Object.values(algorithms).flatMap(({ title }) => (all.has(title) ? [] : [title]))).toEqual(["ERM"]);
});
