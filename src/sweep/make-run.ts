/** Executes one run of a plan in this process, from the start or from its checkpoint, with its own settings. */

import { ownCache } from "../data/named-folders.js";
import { movableKeys } from "../declared-settings/declared.js";
import type { Request } from "../declared-settings/keys.js";
import { DataError } from "../errors.js";
import { factsDigest } from "../records/facts.js";
import { asEdition, editionId } from "../settings/edition.js";
import type { SettingsMemo } from "../settings/memo.js";
import { recordedRequest } from "../settings/preprocessing.js";
import { resolve } from "../settings/resolve.js";
import type { KeptPictures } from "../training/kept-pictures.js";
import { readTrainSettings } from "../training/run-folder.js";
import { startRun } from "../training/start-run.js";
import { type TrainOutcome, train } from "../training/train.js";
import type { Claim } from "./claim.js";
import { FixedByHand } from "./fixed-by-hand.js";
import { readSweepFile } from "./sweep-folder.js";

export interface MakeOptions {
  /** The folder of the sweep. */
  readonly sweep: string;
  /** Settings of the machine: the device, and the number of threads of runs that are started here. */
  readonly device: string;
  readonly threads: number;
  readonly memo: SettingsMemo;
  /** Pictures that the runs of this process share. */
  readonly kept: KeptPictures;
  readonly shouldStop: () => boolean;
  readonly version: string;
}

/** Executes a claimed run. It is an error if the settings of the run differ from the plan. */
export async function makeRun({ run, folder }: Claim, options: MakeOptions): Promise<TrainOutcome> {
  const { sweep, device, threads, memo, kept, shouldStop, version } = options;
  const { cache, ...rest } = recordedRequest(run.request);
  const own = ownCache(cache); // a plan can come from anybody, and a cache is written
  const planned: Request = { ...rest, ...(own !== undefined && { cache: own }) };
  const begun = folder.isBegun ? readTrainSettings(folder.path) : undefined;
  const moved = Object.fromEntries(Object.entries(planned).filter(([name]) => movableKeys.includes(name)));
  const request: Request = begun ? { ...begun.request, cache: undefined, ...moved } : { threads, ...planned };
  const fixed = planned.fixed ?? new FixedByHand(readSweepFile(sweep).requests).namesIn(run.request) ?? [];
  const asked = await resolve({ ...request, fixed, device: planned.device ?? device }, memo);
  const facts = asked.settings.facts && factsDigest(asked.settings.facts);
  if (run.facts !== undefined && facts !== run.facts)
    throw new DataError(
      "the pictures of the dataset or the code of a plug-in has changed since the run was planned; plan the sweep again, which adds the runs with the present ones",
    );
  const isEdition = facts !== undefined && run.id === editionId(asked.settings.hash, facts);
  const plan = isEdition ? { ...asked, settings: asEdition(asked.settings) } : asked;
  if (plan.settings.hash !== run.id)
    throw new DataError(
      `the dataset, the file of weights or this program has changed since the run was planned (${run.id}, now ${plan.settings.hash}); plan the sweep again in a new folder`,
    );
  const keepBest = (readSweepFile(sweep).combine ?? []).length > 0;
  return train({ ...(await startRun(plan, folder)), shouldStop, version, kept, keepBest });
}
