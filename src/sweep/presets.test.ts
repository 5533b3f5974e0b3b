import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { SettingsMemo } from "../settings/memo.js";
import { makePlan } from "./make-plan.js";
import { partInWords, presetNamed, presets } from "./presets.js";

/** The tables of the paper, read from the file of published numbers. */
const published = JSON.parse(
  readFileSync(new URL("../../data/published-tables.json", import.meta.url), "utf8"),
) as readonly { readonly table: string; readonly rows: readonly { readonly algorithm: string }[] }[];

const bare = (name: string): string => name.toLowerCase().replace(/[^a-z0-9]/g, "");
const methodsOf = (id: string): string[] =>
  [...new Set(presets[id].parts.flatMap(({ algorithms }) => algorithms.map(bare)))].sort();
const rowsOf = (table: string): string[] =>
  published
    .find((each) => each.table.startsWith(table))!
    .rows.map(({ algorithm }) => bare(algorithm))
    .sort();

test.each([
  ["table1", "tab:domain_bed"],
  ["table2", "tab:split VLCS"],
  ["table3", "tab:swad-main"],
  ["table4", "tab:swad (SWAD"],
  ["table5", "tab:vlcs"],
  ["table6", "tab:pacs"],
  ["table7", "tab:office"],
  ["table8", "tab:terra"],
  ["table9", "tab:domain_net"],
  ["figure3", "tab:split PACS"],
])("preset %s has the methods of the paper's %s", (preset, table) => {
  expect(methodsOf(preset)).toEqual(rowsOf(table));
});

test("every method of every preset exists", () => {
  const memo = new SettingsMemo();
  for (const { parts } of Object.values(presets))
    for (const part of parts) for (const algorithm of part.algorithms) memo.method({ algorithm });
});

test("rows of SWAD's code are in its protocol with the defaults, rows of DomainBed in its own with 20 draws", async () => {
  const given = { data: "shapes", trials: 1, testDomains: "filled" };
  const { runs } = await makePlan({ preset: "table1", given });
  const of = (algorithm: string, penalties = 0) =>
    runs.filter(
      ({ request }) => request.algorithm === algorithm && (request.regularizers as string[]).length === penalties,
    );
  expect(of("mmd").map(({ request }) => request.hparamsSeed)).toEqual(Array.from({ length: 20 }, (_, i) => i));
  expect(of("mmd")[0].request).toMatchObject({ protocol: "domainbed", augmentValidation: true });
  const [nu, ...more] = of("erm", 1);
  expect(more).toEqual([]);
  expect(nu.request).toMatchObject({ protocol: "swad", averaging: ["swad"], augmentValidation: false, hparamsSeed: 0 });
  expect(of("erm").map(({ request }) => request.protocol)).toEqual([...Array(20).fill("domainbed"), "swad"]);
});

test("ERM++ is planned as its paper trains it, and ERM with the defaults", async () => {
  const given = { data: "shapes", trials: 1, testDomains: "filled" };
  const { runs } = await makePlan({ preset: "erm-plus-plus", given });
  expect(runs.map(({ title }) => title.split(" · ")[2])).toEqual(["ERM++", "ERM"]);
  const settings = { retrain: true, schedule: "plateau", "plateau.from": 500, steps: 15001, evaluateEvery: 100 };
  expect(runs[0].request).toMatchObject({
    ...settings,
    "plateau.drops": "validation",
    "erm-plus-plus.averageFrom": 600,
    "erm-plus-plus.headSteps": 500,
  });
  expect(runs[1].request.retrain).toBe(undefined);
});

test("methods given with a preset are selected from its methods", async () => {
  const given = { data: "shapes", trials: 1, testDomains: "filled", algorithms: "swad-nu,ERM-NU" };
  const { runs } = await makePlan({ preset: "table1", given });
  expect(runs.map(({ title }) => title)).toEqual([
    "shapes · filled held out · ERM-NU and SWAD · protocol=swad · trial 0",
  ]);
  await expect(makePlan({ preset: "table3", given })).rejects.toThrow(
    "preset table3 has no ERM-NU; it has SWAD, SWAD-CORAL",
  );
});

test("Figure 2 and Figure 4 can be planned, small, on generated data", async () => {
  const toy = await makePlan({ preset: "figure2", given: {} });
  expect(toy.runs).toHaveLength(20);
  const weights = await makePlan({ preset: "figure4", given: { data: "shapes", trials: 1, testDomains: "filled" } });
  expect(weights.runs.map(({ request }) => request["nuclear-norm.weight"])).toEqual([
    undefined,
    0.001,
    0.003,
    0.01,
    0.03,
    0.1,
  ]);
});

test("a preset has a description, and an unknown one is an error that suggests the nearest name", () => {
  expect(partInWords(presets.table1.parts[0])).toContain(
    "19 methods × 3 trials × 20 draws, DomainBed's protocol: MMD, ",
  );
  expect(() => presetNamed("tabel1")).toThrow('unknown preset "tabel1": did you mean "table1"?');
});
