/** Run folders on disk, made by hand, and a temporary folder for them. */

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { formatRecord, type RunRecord } from "../../src/records/record.js";
import type { RunSettings } from "../../src/records/run.js";

/** Gives `use` an empty folder that is gone afterwards. */
export function inFolder<T>(use: (folder: string) => T): T {
  const folder = mkdtempSync(join(tmpdir(), "nudge-runs-"));
  try {
    return use(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

export const somePacsSettings: RunSettings = {
  dataset: "pacs",
  domains: ["art_painting", "cartoon", "photo", "sketch"],
  testDomains: ["sketch"],
  algorithm: "erm",
  regularizers: [],
  averaging: [],
  hparamsSeed: 0,
  trialSeed: 0,
  seed: 0,
  fixed: {},
  hparams: { lr: 5e-5, batchSize: 32 },
};

/** Accuracies of all domains at a step: those of domain i are value + i/100 on `in` and half that on `out`. */
export function accuraciesAt(
  step: number,
  value: number,
  { model = "current", settings = somePacsSettings } = {},
): RunRecord[] {
  return settings.domains.flatMap((domain, i) =>
    (["in", "out"] as const).map((split) => {
      const accuracy = (value + i / 100) / (split === "in" ? 1 : 2);
      return { step, model, domain, split, metric: "accuracy", value: accuracy };
    }),
  );
}

/** Writes a run folder as a run leaves it. */
export function writeRun(
  folder: string,
  {
    settings = {},
    records = accuraciesAt(0, 0.5),
    done = true,
  }: {
    settings?: Partial<RunSettings>;
    records?: readonly RunRecord[];
    done?: boolean;
  } = {},
): string {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "settings.json"), JSON.stringify({ ...somePacsSettings, ...settings }));
  writeFileSync(join(folder, "records.jsonl"), records.map(formatRecord).join(""));
  if (done) writeFileSync(join(folder, "done"), "done");
  return folder;
}
