import { appendFileSync, readdirSync, readFileSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../tests/support/picture-folder.js";
import { FeatureCache, type FeatureKey, isLost } from "./feature-cache.js";

const key: FeatureKey = {
  root: "/pictures",
  backbone: "toy",
  weights: "abc",
  inputShape: [3, 8, 8],
  preprocessing: "none",
  device: "cpu",
  width: 3,
};
const stamp = { bytes: 10, mtime: 20 };
const row = (start: number): Float32Array => Float32Array.of(start, start + 0.5, start + 1);
const added = (path: string, start: number) => ({ path, stamp, outcome: row(start) });
const index = (folder: string): string => join(folder, "index.jsonl");

function made(): string {
  const folder = join(temporaryFolder(), "features");
  using cache = new FeatureCache(folder, key);
  cache.add([added("a.png", 1), added("b.png", 2), { path: "c.png", stamp, outcome: { problem: "it is empty" } }]);
  return folder;
}

test("what was added is there for the next process, and why something is not", () => {
  const folder = made();
  using cache = new FeatureCache(folder, key);
  expect([...cache.entries.keys()]).toEqual(["a.png", "b.png", "c.png"]);
  expect(cache.read("b.png")).toEqual(row(2));
  expect(isLost(cache.entries.get("c.png")!)).toBe(true);
  expect(() => cache.read("c.png")).toThrow("there are no features of c.png in it");
  cache.add([added("d.png", 4)]);
  using again = new FeatureCache(folder, key);
  expect([...again.read("a.png"), ...again.read("d.png")]).toEqual([...row(1), ...row(4)]);
});

test("a last line that was torn by a kill is passed over, and what is added after it is read", () => {
  const folder = made();
  appendFileSync(index(folder), '{"path":"d.png","bytes":1');
  using cache = new FeatureCache(folder, key);
  expect(cache.entries.has("d.png")).toBe(false);
  cache.add([added("e.png", 5)]);
  using again = new FeatureCache(folder, key);
  expect([...again.entries.keys()]).toEqual(["a.png", "b.png", "c.png", "e.png"]);
  expect(again.read("e.png")).toEqual(row(5));
});

test("a file of rows that was cut short has lost what it lost, and no more", () => {
  const folder = made();
  const [rows] = readdirSync(folder).filter((name) => name.endsWith(".f32"));
  truncateSync(join(folder, rows), 12 + 5);
  using cache = new FeatureCache(folder, key);
  expect([...cache.entries.keys()]).toEqual(["a.png", "c.png"]);
});

test("a killed writer's rows that no line names are removed by the next writer", () => {
  const folder = made();
  writeFileSync(join(folder, "rows-0123456789abcdef.f32"), "left behind");
  using cache = new FeatureCache(folder, key);
  cache.add([added("d.png", 4)]);
  expect(readdirSync(folder)).not.toContain("rows-0123456789abcdef.f32");
  expect(cache.read("a.png")).toEqual(row(1));
});

test("features of other weights are refused, and nothing is lost", () => {
  const folder = made();
  const before = readFileSync(index(folder), "utf8");
  expect(() => new FeatureCache(folder, { ...key, weights: "other" })).toThrow("expected the features of toy");
  expect(readFileSync(index(folder), "utf8")).toBe(before);
});

test("an index that names files elsewhere is not believed", () => {
  const folder = made();
  appendFileSync(index(folder), '{"path":"x.png","bytes":1,"mtime":1,"rows":"../../etc/passwd","row":0}\n');
  appendFileSync(index(folder), '{"path":"y.png","bytes":1,"mtime":1,"rows":"rows-0000000000000000.f32","row":-1}\n');
  using cache = new FeatureCache(folder, key);
  expect(["x.png", "y.png"].filter((path) => cache.entries.has(path))).toEqual([]);
});
