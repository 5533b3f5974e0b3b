/**
 * The commands of docs/recipes/reproduce-a-table.md that plan the paper's own setting, as they stand there: ResNet-50's weights and the five
 * datasets are a file and folders by their names, for a plan opens neither weights nor pictures.
 */

import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { main } from "../../src/cli/main.js";
import { datasets } from "../../src/data/datasets/index.js";
import { makePlan } from "../../src/sweep/make-plan.js";
import { fencedBlocks } from "../support/fenced-blocks.js";
import { catchPrinted } from "../support/printed.js";

const page = readFileSync(join(import.meta.dirname, "../../docs/recipes/reproduce-a-table.md"), "utf8");
const [, section] = page.split("## The paper's own setting\n");
const [{ body }] = fencedBlocks(section);
const plans = [...body.matchAll(/^nudge (sweep plan .+? --dry-run) +# ([\d,]+ runs)/gm)];

const printed = catchPrinted();
const before = process.cwd();
const folder = mkdtempSync(join(tmpdir(), "nudge-paper-"));

beforeAll(() => {
  for (const id of ["vlcs", "pacs", "office-home", "terra-incognita", "domain-net"]) {
    const { layout = "", published } = datasets[id];
    for (const { name } of published!.domains)
      for (const kind of ["a", "b"]) {
        const place = join(folder, "data", layout.split("/")[0], name, kind);
        mkdirSync(place, { recursive: true });
        for (let i = 0; i < 5; i++) writeFileSync(join(place, `${i}.jpg`), "");
      }
  }
  mkdirSync(join(folder, "weights"));
  writeFileSync(join(folder, "weights/resnet50.pth"), "made up");
  process.chdir(folder);
});
afterAll(() => {
  process.chdir(before);
  rmSync(folder, { recursive: true });
});

test("the page has a command for Table 1, and for Table 2 with and without a search", () => {
  expect(plans.map(([, words]) => words)).toEqual([
    "sweep plan --preset table2 --root data --dry-run",
    "sweep plan --preset table2 --root data --hparams 20 --dry-run",
    "sweep plan --preset table1 --root data --dry-run",
  ]);
  expect(body).toContain("export NUDGE_WEIGHTS=weights ");
});

test.each(plans.map(([, words, runs]) => [words, runs]))("nudge %s is %s", async (words, runs) => {
  vi.stubEnv("NUDGE_WEIGHTS", "weights");
  expect(await main([...words.split(" "), "--no-measure"])).toBe(0);
  expect(printed.stdout).toMatch(new RegExp(`^table[12]: ${runs}\n`));
  expect(printed.stdout).toContain("nothing was written (--dry-run)");
});

test("its runs have the paper's settings: ResNet-50, SWAD's steps, three trials, the official penalty", async () => {
  vi.stubEnv("NUDGE_WEIGHTS", "weights");
  const { runs } = await makePlan({ preset: "table2", given: { root: "data" } });
  const requests = runs.map(({ request }) => request);
  const different = (name: string): unknown[] => [...new Set(requests.map((request) => request[name]))];
  for (const [name, value] of Object.entries({ backbone: "resnet50", pretrained: true, freezeBatchNorm: true }))
    expect(different(name)).toEqual([value]);
  expect([different("batchSize"), different("holdout"), different("trialSeed")]).toEqual([[32], [0.2], [0, 1, 2]]);
  const lengths = Object.fromEntries(requests.map(({ data, steps, evaluateEvery }) => [data, [steps, evaluateEvery]]));
  expect(lengths).toEqual({
    vlcs: [5001, 50],
    pacs: [5001, 100],
    "office-home": [5001, 100],
    "terra-incognita": [5001, 100],
    "domain-net": [15001, 500],
  });
  const penalised = requests.filter((request) => "nuclear-norm.weight" in request);
  expect(penalised).toHaveLength(runs.length / 2);
  for (const request of penalised)
    expect(request).toMatchObject({ "nuclear-norm.weight": 0.01, "nuclear-norm.scaling": "per-sample" });
});
