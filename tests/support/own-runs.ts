/** Runs on a folder of one's own pictures as `nudge train` leaves them: one on all domains, one with each held out, all assessed. */

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { shareOf } from "../../src/analysis/assess.js";
import type { AssessedDomain } from "../../src/analysis/assessment.js";
import type { RunRecord } from "../../src/records/record.js";
import type { RunSettings } from "../../src/records/run.js";
import { writeRun } from "./run-folders.js";

/** 20 pictures per domain, 16 of them `in`. */
export const OWN_COUNT = 20;
export const ownDomains = ["day", "dusk", "night"];

/** What the program chooses for a small folder on a CPU. */
export const fitted = { steps: 20, evaluateEvery: 10, evaluateFirst: false, augmentValidation: false, batchSize: 10 };

export interface OwnRun {
  /** The domain held out; none for the model to use. */
  readonly heldOut?: string;
  /** Of the held-out domain's pictures, those the model is right about, of 20; all that are wrong are `in`. */
  readonly right: number;
  readonly settings?: Partial<RunSettings> & { readonly data?: string; readonly pictures?: string };
  readonly assessed?: boolean;
}

/** Writes one run; the second of its two evaluations is the best by validation, and the model's. */
export function writeOwnRun(
  folder: string,
  name: string,
  { heldOut, right, settings, assessed = true }: OwnRun,
): string {
  const testDomains = heldOut === undefined ? [] : [heldOut];
  const records = [9, 19].flatMap((step) =>
    ownDomains.flatMap((domain) =>
      (["in", "out"] as const).map((split): RunRecord => {
        const inPart = (16 - (OWN_COUNT - right)) / 16;
        const best = domain !== heldOut ? 0.75 : split === "in" ? inPart : 1;
        return { step, model: "current", domain, split, metric: "accuracy", value: step === 19 ? best : best / 2 };
      }),
    ),
  );
  const given = { dataset: "image-folder", domains: ownDomains, testDomains, holdout: 0.2, fixed: fitted } as const;
  const run = writeRun(join(folder, name), {
    settings: {
      ...given,
      steps: 20,
      evaluateEvery: 10,
      ...({ data: "photos/wild/", splitHash: `s${heldOut}` } as object),
      ...settings,
    },
    records,
  });
  const domains = ownDomains.map((domain): AssessedDomain => {
    const held = domain === heldOut;
    const share = held ? shareOf(right, OWN_COUNT) : shareOf(3, 4);
    return { name: domain, part: held ? "held out" : "validation", ...share, confusion: [[share.count]] };
  });
  const assessment = {
    format: 1,
    model: "current",
    step: 19,
    classes: ["cat"],
    domains,
    calibration: {},
    mostWrong: [],
  };
  if (assessed) writeFileSync(join(run, "assessment.json"), JSON.stringify(assessment));
  return run;
}

/** All runs of one `nudge train`: the model to use, and one with each domain held out. */
export function writeOwnTraining(folder: string, name: string, run: OwnRun): void {
  writeOwnRun(folder, `${name}-none`, run);
  for (const heldOut of ownDomains) writeOwnRun(folder, `${name}-${heldOut}`, { ...run, heldOut });
}
