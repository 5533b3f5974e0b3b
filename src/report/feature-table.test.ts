import { join } from "node:path";
import { expect, test } from "vitest";
import { pacsDomains } from "../../tests/support/report-runs.js";
import { inFolder, writeRun } from "../../tests/support/run-folders.js";
import type { RunRecord } from "../records/index.js";
import { trainingDomain } from "../selection/index.js";
import { FEATURE_COLUMNS } from "./chosen-features.js";
import { type FeatureTable, featureTables } from "./feature-table.js";
import { Outcome } from "./outcome.js";
import { readResults } from "./read-results.js";

/** A run whose second of three evaluations is the best. The norm of its features is `scale` there, and twice that on the held-out domain. */
function writeMeasured(folder: string, { trial, scale }: { trial: number; scale: number }): void {
  const records = [0, 100, 200].flatMap((step): RunRecord[] => {
    const accuracy = pacsDomains.flatMap((domain) =>
      (["in", "out"] as const).map((split) => ({ domain, split, value: step === 100 ? 0.9 : 0.5 })),
    );
    const factor = step === 100 ? scale : 1000;
    const features = [null, "sketch"].flatMap((domain) =>
      Object.keys(FEATURE_COLUMNS).map((metric) => ({ domain, metric, value: factor * (domain === null ? 1 : 2) })),
    );
    return [
      ...accuracy.map((row) => ({ step, model: "current", metric: "accuracy", ...row })),
      ...features.map((row) => ({ step, model: "current", split: "out" as const, ...row })),
      { step, model: "current", domain: null, split: null, metric: "headNorm", value: factor / 10 },
    ];
  });
  const settings = { dataset: "pacs", domains: pacsDomains, testDomains: ["sketch"], trialSeed: trial };
  writeRun(join(folder, `trial${trial}`), { settings, records });
}

const tablesOf = (write: (folder: string) => void): FeatureTable[] =>
  inFolder((folder) => {
    write(folder);
    return featureTables(new Outcome(readResults([folder]), trainingDomain));
  });

test("norms and ranks are those of the step that selection chose, over all runs of a method", () => {
  const [{ title, rows }] = tablesOf((folder) => {
    writeMeasured(folder, { trial: 0, scale: 10 });
    writeMeasured(folder, { trial: 1, scale: 30 });
  });
  expect(title).toBe("PACS");
  expect(rows.map(({ of, values, headNorm, runs }) => [of, values.stableRank, headNorm, runs])).toEqual([
    ["training domains", 20, 2, 2],
    ["held-out domain", 40, 2, 2],
  ]);
});

test("runs that recorded no features have no table", () => {
  const tables = tablesOf((folder) => {
    const records = pacsDomains.flatMap((domain) =>
      (["in", "out"] as const).map((split) => ({
        step: 0,
        model: "current",
        domain,
        split,
        metric: "accuracy",
        value: 1,
      })),
    );
    const settings = { dataset: "pacs", domains: pacsDomains, testDomains: ["sketch"], trialSeed: 0 };
    writeRun(join(folder, "run"), { settings, records });
  });
  expect(tables).toEqual([]);
});
