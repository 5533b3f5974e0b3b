/** One run of a plan, made in this process: begun, or gone on with, from its own settings. */

import { DataError } from "../errors.js";
import type { Request } from "../settings/keys.js";
import type { SettingsMemo } from "../settings/memo.js";
import { resolve } from "../settings/resolve.js";
import { readTrainSettings } from "../training/run-folder.js";
import { startRun } from "../training/start-run.js";
import { type TrainOutcome, train } from "../training/train.js";
import type { Claim } from "./claim.js";
import { FixedByHand } from "./fixed-by-hand.js";
import { readSweepFile } from "./sweep-folder.js";

export interface MakeOptions {
  /** The folder of the sweep. */
  readonly sweep: string;
  /** What the machine decides: the device, and the threads of runs that are begun here. */
  readonly device: string;
  readonly threads: number;
  readonly memo: SettingsMemo;
  readonly shouldStop: () => boolean;
  readonly version: string;
}

/** Where files are may be said anew when a run goes on; all else stays as it was begun. */
const MAY_MOVE = ["data", "root", "cache", "weights"];

/** Makes a claimed run; a run whose settings are no longer what was planned is an error. */
export async function makeRun({ run, folder }: Claim, options: MakeOptions): Promise<TrainOutcome> {
  const { sweep, device, threads, memo, shouldStop, version } = options;
  const planned: Request = run.request;
  const begun = folder.isBegun ? readTrainSettings(folder.path) : undefined;
  const moved = Object.fromEntries(Object.entries(planned).filter(([name]) => MAY_MOVE.includes(name)));
  const request: Request = begun ? { ...begun.request, ...moved } : { threads, ...planned };
  const fixed = planned.fixed ?? new FixedByHand(readSweepFile(sweep).requests).namesIn(run.request) ?? [];
  const plan = await resolve({ ...request, fixed, device: planned.device ?? device }, memo);
  if (plan.settings.hash !== run.id)
    throw new DataError(
      `the dataset, the file of weights or this program has changed since it was planned (${run.id}, now ${plan.settings.hash}): plan the sweep again, in a new folder`,
    );
  return train({ ...(await startRun(plan, folder)), shouldStop, version });
}
