/**
 * A searched sweep gives the tables that DomainBed's own collector gives, whether or not the search has settings that were
 * fixed by hand. The plan and the settings are this program's, the accuracies are made up; the collector's text on the same
 * numbers is tests/vectors/domainbed-search.txt, and so it is on these runs when `nudge report --format domainbed --out` has
 * written them in its format.
 */

import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { datasets } from "../../src/data/datasets/index.js";
import { formatRecord } from "../../src/records/record.js";
import { toDomainBedTables } from "../../src/report/domainbed-names.js";
import { readResults } from "../../src/report/read-results.js";
import { makeReport } from "../../src/report/report.js";
import { SettingsMemo } from "../../src/settings/memo.js";
import { resolve } from "../../src/settings/resolve.js";
import { growPlan } from "../../src/sweep/grow-plan.js";
import { makePlan } from "../../src/sweep/make-plan.js";
import { sweepPaths } from "../../src/sweep/sweep-folder.js";

const DATASETS = ["vlcs", "pacs", "terra-incognita"];
const ALGORITHMS = ["erm", "mixup", "coral", "vrex"];

const root = mkdtempSync(join(tmpdir(), "nudge-search-"));
afterAll(() => rmSync(root, { recursive: true, force: true }), 60_000);

const weights = join(root, "resnet50.safetensors"); // what is in it is no matter to a plan
writeFileSync(weights, "weights");
for (const id of DATASETS)
  for (const domain of datasets[id].published!.domains)
    for (const name of datasets[id].published!.classes as readonly string[]) {
      const folder = join(root, "data", id, domain.name, name);
      mkdirSync(folder, { recursive: true });
      writeFileSync(join(folder, "1.jpg"), "");
    }

/** As tests/vectors/domainbed_search.py has it. */
function accuracy(...places: number[]): number {
  const sizes = [3, 4, 4, 3, 20, 3, 4, 2];
  const k = places.reduce((number, place, i) => number * sizes[i] + place, 0);
  return ((k * k * 31 + k * 7919) % 1000003) / 1000002;
}

/** Plans a search and writes its runs, as workers do that make each from its line of the plan. */
async function writeSearch(folder: string, settings: object): Promise<void> {
  const lists = { data: DATASETS.join(","), algorithms: ALGORITHMS.join(","), hparams: 20, trials: 3 };
  const { words, runs } = await makePlan({ given: { ...lists, root: join(root, "data"), weights, ...settings } });
  await growPlan(folder, words, runs);
  const memo = new SettingsMemo();
  for (const { name, request } of runs) {
    const run = sweepPaths(folder).run(name);
    const { settings: settled } = await resolve(request, memo);
    const { dataset, algorithm, domains, testDomains, trialSeed, hparamsSeed } = settled;
    const place = [DATASETS.indexOf(dataset), ALGORITHMS.indexOf(algorithm), domains.indexOf(testDomains[0])];
    const records = [0, 1, 2].flatMap((step) =>
      domains.flatMap((domain, d) =>
        (["in", "out"] as const).map((split, s) => {
          const value = accuracy(...place, trialSeed, hparamsSeed, step, d, s);
          return formatRecord({ step: 300 * step, model: "current", domain, split, metric: "accuracy", value });
        }),
      ),
    );
    mkdirSync(run, { recursive: true });
    writeFileSync(join(run, "settings.json"), JSON.stringify(settled));
    writeFileSync(join(run, "records.jsonl"), records.join(""));
    writeFileSync(join(run, "done"), "");
  }
}

const expected = readFileSync(new URL("../vectors/domainbed-search.txt", import.meta.url), "utf8");

const long = process.env.NUDGE_LONG !== undefined;

test.each([
  // The defaults, which some draws have too, and most have not.
  ["with settings fixed by hand", { batchSize: 32, weightDecay: 0, steps: 5001, evaluateEvery: 300 }] as const,
  ...(long ? [["without settings fixed by hand", {}] as const] : []),
])(
  "the tables of a search %s equal those of DomainBed's collector on the same runs",
  { timeout: 120_000 },
  async (name, settings) => {
    const folder = join(root, name);
    await writeSearch(folder, settings);
    const report = makeReport(readResults([folder]));
    expect(toDomainBedTables(report.outcome)).toBe(expected);
    expect(report.outcome.methods.map(({ title }) => title)).toEqual(["ERM", "VREx", "Mixup", "CORAL"]);
  },
);
