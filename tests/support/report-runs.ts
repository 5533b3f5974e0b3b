/** Folders of runs to report on: methods × domains × trials with accuracies that are a formula of them. */

import { join } from "node:path";
import type { RunRecord } from "../../src/records/record.js";
import type { RunSettings } from "../../src/records/run.js";
import { writeRun } from "./run-folders.js";

export const pacsDomains = ["art_painting", "cartoon", "photo", "sketch"];
export const vlcsDomains = ["Caltech101", "LabelMe", "SUN09", "VOC2007"];

export const nuclearNormOn = [{ id: "nuclear-norm", settings: { weight: 0.01, scaling: "per-sample", warmup: 101 } }];

export interface MadeRun {
  readonly dataset?: string;
  readonly domains?: readonly string[];
  readonly heldOut: string;
  readonly trial: number;
  readonly regularizers?: RunSettings["regularizers"];
  readonly averaging?: RunSettings["averaging"];
  /** On the held-out domain at the best step; the other domains are at 0.9. */
  readonly accuracy: number;
  readonly settings?: Partial<RunSettings> & { readonly splitHash?: string };
}

/** Writes a run of three evaluations, the middle one the best by training-domain validation. */
export function writeMadeRun(folder: string, made: MadeRun): string {
  const { dataset = "pacs", domains = pacsDomains, heldOut, trial, regularizers = [], averaging = [] } = made;
  const models = ["current", ...averaging.map(({ id }) => id)];
  const records = [0, 100, 200].flatMap((step) =>
    models.flatMap((model) =>
      domains.flatMap((domain) =>
        (["in", "out"] as const).map((split): RunRecord => {
          const best = domain === heldOut ? made.accuracy + (model === "current" ? 0 : 0.02) : 0.9;
          const value = step === 100 ? best : step === 0 ? best - 0.2 : best - 0.05;
          return { step, model, domain, split, metric: "accuracy", value };
        }),
      ),
    ),
  );
  const name = [dataset, heldOut, ...regularizers.map(({ id }) => id), `trial${trial}`].join("-");
  const settings = {
    dataset,
    domains,
    testDomains: [heldOut],
    regularizers,
    averaging,
    trialSeed: trial,
    steps: 201,
    evaluateEvery: 100,
    holdout: 0.2,
    ...made.settings,
  };
  return writeRun(join(folder, name), { settings, records });
}

/** ERM and ERM-NU with every domain of PACS held out in three trials; NU gains (1 + domain)/100 and a little a trial. */
export function writePacsSweep(folder: string): void {
  pacsDomains.forEach((heldOut, d) => {
    for (const trial of [0, 1, 2]) {
      const accuracy = 0.8 - d / 20 + trial / 100;
      writeMadeRun(folder, { heldOut, trial, accuracy });
      const gain = (1 + d + (trial - 1) / 2) / 100;
      writeMadeRun(folder, { heldOut, trial, accuracy: accuracy + gain, regularizers: nuclearNormOn });
    }
  });
}

/**
 * ERM and ERM-NU on PACS, a search of so many draws in two trials: draw 1 is the best of trial 0, draw 2 of trial 1. On the held-out
 * domain all are 20 points below.
 */
export function writeSearch(folder: string, draws = 3, more: object = {}): void {
  for (const regularized of [false, true])
    for (const heldOut of pacsDomains)
      for (const trial of [0, 1])
        for (let draw = 0; draw < draws; draw++) {
          const validation =
            [0.8, 0.82, 0.81][draw % 3] + (trial === 1 && draw % 3 === 2 ? 0.02 : 0) - (draw > 2 ? 0.1 : 0);
          const lr = [1e-4, 1e-3, 3e-3][draw] ?? 2e-3 * draw;
          const weight = { weight: [0.01, 0.001, 0.03][draw] ?? 0.05 };
          const regularizers = regularized ? [{ id: "nuclear-norm", settings: weight }] : [];
          const hparams = { lr, dropout: [0, 0.5, 0.1][draw % 3] };
          const settings = { hparamsSeed: draw, hparams, algorithm: "erm", ...more };
          const records = [0, 100, 200].flatMap((step) =>
            pacsDomains.flatMap((domain) =>
              (["in", "out"] as const).map((split): RunRecord => {
                const best = validation - (domain === heldOut ? 0.2 : 0);
                return {
                  step,
                  model: "current",
                  domain,
                  split,
                  metric: "accuracy",
                  value: step === 100 ? best : best - 0.1,
                };
              }),
            ),
          );
          const name = `${heldOut}-${["erm", ...regularizers.map(({ id }) => id)].join("+")}-trial${trial}-draw${draw}`;
          const about = {
            dataset: "pacs",
            domains: pacsDomains,
            testDomains: [heldOut],
            averaging: [],
            trialSeed: trial,
          };
          writeRun(join(folder, name), {
            settings: { ...about, regularizers, steps: 201, holdout: 0.2, ...settings },
            records,
          });
        }
}
