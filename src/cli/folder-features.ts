/** Computes the features of a folder's pictures with a pretrained network, for commands that analyse pictures before training. */

import type { PictureDataset } from "../data/dataset.js";
import type { Request } from "../declared-settings/keys.js";
import { StoppedError, UsageError } from "../errors.js";
import type { Plan } from "../settings/resolve.js";
import type { Reporter } from "../training/reporter.js";
import type { Samples } from "../training/samples.js";
import { onStopSignals } from "./stop-signals.js";

export interface FolderFeatures extends Disposable {
  readonly dataset: PictureDataset;
  readonly plan: Plan;
  readonly samples: Samples;
  readonly reporter: Reporter;
}

/** Computes the features, or reads cached ones. `what` is the command, for messages. */
export async function openFolderFeatures(
  dir: string,
  { backbone, weights, device: requested }: { backbone?: string; weights?: string; device?: string },
  what: string,
): Promise<FolderFeatures> {
  const [{ datasetFor, resolve }, { SettingsMemo }, { recipeRequests }, { openFeatures }] = await Promise.all([
    import("../settings/resolve.js"),
    import("../settings/memo.js"),
    import("../own-data/recipe-plan.js"),
    import("../training/samples.js"),
  ]);
  const [{ defaultDevice }, { streamReporter }, { compareProgress }] = await Promise.all([
    import("../engine/device.js"),
    import("../training/reporter.js"),
    import("./compare-progress.js"),
  ]);
  const device = requested ?? defaultDevice();
  const request: Request = { data: dir, testDomains: [], ...(backbone && { backbone }), ...(weights && { weights }) };
  const reporter = streamReporter(process.stderr);
  using stop = onStopSignals((signal) =>
    reporter.line(`${signal}: finishing the batch; press again to stop immediately`),
  );
  const memo = new SettingsMemo(compareProgress(reporter, stop));
  const dataset = await datasetFor(request, memo);
  if (dataset.kind !== "pictures") throw new UsageError(`${what}: ${dir} contains no pictures`);
  const plan = await resolve(recipeRequests(dataset, request, device).probe, memo);
  const samples = await openFeatures(plan, {
    say: (text) => reporter.line(text),
    progress: (text) => reporter.progress?.(text),
    shouldStop: () => stop.asked,
  });
  if (samples === null) throw new StoppedError(`${what}: stopped; run the same command to resume`);
  return { dataset, plan, samples, reporter, [Symbol.dispose]: () => samples[Symbol.dispose]() };
}
