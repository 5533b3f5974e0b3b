/** Imports of `src/` point upstream: from a folder to itself and to those before it in `src/order.json`. */

import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { expect, test } from "vitest";

const root = join(import.meta.dirname, "..");
const sources = join(root, "src");
const order = JSON.parse(readFileSync(join(sources, "order.json"), "utf8")) as string[];

/** Imports and re-exports, those of types alone included, and `import("…")` in code and in types. */
const IMPORTS = /(?:\bfrom\s*|\bimport\s*\(?\s*)"(\.[^"]+)"/g;

/** The folder of `src/` that a file is in, or the file itself where it is in none. */
const stationOf = (path: string): string => relative(sources, path).split("/")[0].replace(/\.js$/, ".ts");

/** Imports of a file from outside its folder, as folders. */
function importsOf(path: string, text: string): string[] {
  return Array.from(text.matchAll(IMPORTS), ([, name]) => stationOf(resolve(dirname(path), name)));
}

/** What is wrong with a file's imports, a line each. */
function against(path: string, text: string): string[] {
  const place = order.indexOf(stationOf(path));
  return importsOf(path, text)
    .filter((station) => !(order.indexOf(station) <= place) || !order.includes(station))
    .map((station) => `${relative(root, path)} imports ${station}, which is not before ${stationOf(path)}`);
}

const files = readdirSync(sources, { recursive: true, encoding: "utf8" })
  .filter((name) => /\.tsx?$/.test(name) && !/\.(test|fixture)\.ts$/.test(name))
  .map((name) => join(sources, name));

test("every folder and every file directly in src/ is in src/order.json", () => {
  expect([...order].sort()).toEqual([...new Set(files.map(stationOf))].sort());
});

test("imports point to the same folder or to an earlier one in src/order.json", () => {
  expect(files.flatMap((path) => against(path, readFileSync(path, "utf8")))).toEqual([]);
});

test("type imports, re-exports and dynamic imports against the order are found", () => {
  const path = join(sources, "data", "loader.ts");
  const lines = [
    'import type { Report } from "../report/report.js";',
    'export * from "../sweep/index.js";',
    'const { main } = await import("../cli/main.js");',
    'import { nowhere } from "../nowhere.js";',
    'import { Tensor } from "../engine/tensor.js";\nimport { Split } from "./split.js";',
  ];
  expect(lines.map((line) => against(path, line).length)).toEqual([1, 1, 1, 1, 0]);
});

const read = (document: string): string => readFileSync(join(root, document), "utf8");

test("CONTRIBUTING.md describes each folder in one line, in that order", () => {
  const lines = read("CONTRIBUTING.md").matchAll(/^ {2}([a-z-]+)(\/|\.ts) /gm);
  expect(Array.from(lines, ([, name, ending]) => (ending === "/" ? name : `${name}${ending}`))).toEqual(order);
});

test("docs/tour.md has the same order", () => {
  const asked = order.map((name) => (name.endsWith(".ts") ? name : `${name}/`));
  expect(read("docs/tour.md").replaceAll(/\s+/g, " ")).toContain(asked.join(" "));
});
