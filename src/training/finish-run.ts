/**
 * The end of a run: the final models, the figures, and the marker that it is done, or that it can train again on all
 * pictures. If it is stopped in between, all of it is repeated.
 */

import { renameSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { writeFigure } from "../drawing/write-figure.js";
import { openSafetensors } from "../engine/safetensors.js";
import { scope } from "../engine/scope.js";
import { readBytes } from "../files/open-file.js";
import { replaceFile } from "../files/replace-file.js";
import { syncFolder } from "../files/sync-folder.js";
import { DONE_FILE } from "../records/run.js";
import { readRecords } from "../records/store.js";
import { type TrainSettings, trainDomainsOf } from "../settings/settings.js";
import { solveNeighbours, solveProbe } from "./exact-probe.js";
import { runFigures } from "./figures.js";
import { addDistance } from "./model-distance.js";
import { writeModel } from "./model-file.js";
import { addBody, replaceHead } from "./probe-model.js";
import { VALIDATED_FILE } from "./retrain-length.js";
import type { RunFolder } from "./run-folder.js";
import { averageWords, lostWords } from "./run-words.js";
import type { Running } from "./running.js";
import { withAverage } from "./with-average.js";

/**
 * Finishes a run. `beforeDone` receives the pictures that could not be read, with the reasons. `keepBest` keeps the best
 * weights of a run whose model is an average.
 */
export async function finishRun(
  run: Running,
  beforeDone: (lost: ReadonlyMap<string, string>) => Promise<void> | undefined,
  keepBest: boolean,
): Promise<void> {
  const { plan, folder, progress } = run;
  run.learner.checkPenalties();
  const names = await writeModels(run);
  for (const name of names) {
    const path = folder.file(underWay(name));
    if (plan.settings.probe) addBody(path, plan);
    folder.checkOwner();
    const { device } = plan.settings;
    await addDistance(path, {
      loader: run.plain,
      trainDomains: trainDomainsOf(plan.settings),
      device,
      areFeatures: plan.settings.probe === "exact",
      pause: run.pause,
    });
  }
  folder.checkOwner();
  for (const name of names) renameSync(folder.file(underWay(name)), folder.file(name));
  syncFolder(folder.path);
  const lost = reportLost(run);
  const figures = runFigures(readRecords(folder.records).records, plan.settings);
  await Promise.all(figures.map(({ name, svg }) => writeFigure(svg, folder.file("figures", name))));
  await beforeDone(lost);
  if (plan.settings.refit) refit(run);
  folder.checkOwner();
  rmSync(folder.previousCheckpoint, { force: true });
  syncFolder(folder.file("checkpoint")); // so that a finished run has none, even after a power failure
  const { next, best, losses } = progress;
  const ended = { step: next - 1, best, hash: plan.settings.hash, ...(losses && { losses }) };
  folder.writeJson(plan.settings.retrain ? VALIDATED_FILE : DONE_FILE, ended);
  if (!plan.settings.retrain) dropCheckpoint(folder, plan.settings, keepBest);
}

/** Deletes what only resuming needs, which is most of the size of a run. */
export function dropCheckpoint(
  folder: RunFolder,
  { keepCheckpoint }: Pick<TrainSettings, "keepCheckpoint">,
  keepBest: boolean,
): void {
  if (keepCheckpoint) return;
  if (keepBest) rmSync(folder.lastCheckpoint, { force: true });
  else rmSync(dirname(folder.lastCheckpoint), { recursive: true, force: true });
}

/**
 * Fits an exact probe again, including the validation pictures, after it has been evaluated, so that the model for use
 * is trained on all pictures.
 */
function refit({ plan, folder, samples }: Running): void {
  const probeC = readRecords(folder.records).records.find(({ metric }) => metric === "probeC")!.value;
  folder.checkOwner();
  scope(() => {
    const { fit } = solveProbe(samples, { ...plan, settings: { ...plan.settings, probeC } }, ["in", "out"]);
    const neighbours = plan.settings.neighbours && solveNeighbours(samples, plan, ["in", "out"]);
    replaceHead(folder.file("model.safetensors"), fit, neighbours);
  });
}

/** The name of a model file until it is complete, so that a run that was killed has no model which cannot be used. A resumed run removes such files. */
const underWay = (name: string): string => `.${name}.tmp`;

/**
 * Writes the model for use, under a name of its own: the average if there is one, otherwise the best by training-domain
 * validation. Returns the names of all model files.
 */
async function writeModels(run: Running): Promise<string[]> {
  const { plan, folder, learner, followers, progress } = run;
  const step = progress.next - 1;
  if (followers.length === 0) {
    openSafetensors(folder.bestCheckpoint).close(); // before a large file that is none is copied
    const best = readBytes(folder.bestCheckpoint);
    replaceFile(folder.file(underWay("model.safetensors")), (write) => write(best));
    return ["model.safetensors"];
  }
  const names = followers.map(({ id }, i) => (i === 0 ? "model.safetensors" : `model-${id}.safetensors`));
  for (const [i, follower] of followers.entries()) {
    await withAverage(run, follower, () => {
      folder.checkOwner();
      writeModel(folder.file(underWay(names[i])), {
        plan,
        learner,
        sample: run.probe.sample(),
        model: follower.id,
        step,
      });
    });
    run.say(averageWords(follower.id, follower.summary()));
  }
  return names;
}

/** Returns the pictures that could not be read. It prints a summary and writes all of them to the log. */
function reportLost({ samples, loader, plain, folder, say }: Running): ReadonlyMap<string, string> {
  const lost = [...new Map([...samples.lost, ...loader.skipped, ...plain.skipped])].sort();
  for (const [name, problem] of lost) folder.log(`skipped ${name}: ${problem}`);
  if (lost.length > 0) say(lostWords(lost));
  return new Map(lost);
}
