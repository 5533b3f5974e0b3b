/**
 * From a request to a completely specified run: the dataset is opened and split, the method created, and every
 * hyperparameter has its value (settle.ts).
 */

import { evenlyChosen } from "../data/evenly-chosen.js";
import { splitOf } from "../data/own-split.js";
import type { Split } from "../data/split.js";
import type { Request } from "../declared-settings/keys.js";
import { SettingsMemo } from "./memo.js";
import type { TrainSettings } from "./settings.js";
import { type RunParts, settle } from "./settle.js";

export { datasetFor } from "./settle.js";

/** A resolved run: its settings, and the objects they stand for. */
export interface Plan extends RunParts {
  readonly split: Split;
}

/** Resolves a run. */
export async function resolve(request: Request, memo = new SettingsMemo()): Promise<Plan> {
  const { hashOf: _, redraw: __, whole: ___, ...run } = await settle(request, memo);
  const { trialSeed, testDomains, holdout } = run.settings;
  const split = splitOf(run.dataset, { trialSeed, testDomains, holdout });
  const { trainOnAll } = run.settings;
  const dataset = trainOnAll ? { ...run.dataset, notes: [...run.dataset.notes, TRAINED_ON_ALL] } : run.dataset;
  const parts = trainOnAll ? withValidation(split, run.settings) : split;
  return { ...run, dataset, split: fewerTested(parts, run.settings) };
}

const TRAINED_ON_ALL =
  "the validation pictures were used for training too (trainOnAll), so the validation accuracy says nothing about new pictures";

/** The split with the validation pictures of training domains in both parts. */
export function withValidation(split: Split, { testDomains }: Pick<TrainSettings, "testDomains">): Split {
  return new Map(
    [...split].map(([name, parts]) => [
      name,
      testDomains.includes(name) ? parts : { ...parts, in: [...parts.in, ...parts.out] },
    ]),
  );
}

/**
 * The split with at most this many pictures of each held-out domain, evenly from both parts. It is the same at every
 * call.
 */
function fewerTested(split: Split, { testDomains, testPictures }: TrainSettings): Split {
  if (testPictures === undefined) return split;
  return new Map(
    [...split].map(([name, parts]) => {
      if (!testDomains.includes(name)) return [name, parts];
      const places = [...parts.in, ...parts.out].sort((a, b) => a - b);
      return [name, { in: evenlyChosen(places, testPictures), out: [], uda: [] }];
    }),
  );
}
