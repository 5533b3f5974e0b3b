/** Evaluates the model of a run on the pictures that it was not trained on, each once and without augmentation. */

import { resolve } from "node:path";
import { type Assessment, assessmentOf, type WrongPicture } from "../analysis/assessment.js";
import { type Judged, judge } from "../analysis/judged.js";
import { datasets } from "../data/datasets/index.js";
import { decodeFile } from "../data/decode.js";
import { Loader } from "../data/loader.js";
import type { SplitName } from "../data/split.js";
import { scope } from "../engine/scope.js";
import { readWeights } from "../engine/weights.js";
import { temperatureOf } from "../model/about.js";
import { hasHeatMaps, heatMapOf } from "../model/heat-map.js";
import { loadModel, readModelAbout } from "../model/index.js";
import type { Plan } from "../settings/resolve.js";
import { loaderOptions } from "./samples.js";
import type { EndedRun } from "./train.js";

/**
 * Evaluates the model on all pictures of held-out domains and on the validation split of the others. This loads the
 * model's weights into the learner.
 */
export async function assessRun(
  run: EndedRun,
  onJudged: (judged: readonly Judged[]) => void = () => {},
): Promise<Assessment> {
  const { plan, folder, learner, lost } = run;
  const { testDomains, domains, device, classes } = plan.settings;
  const path = folder.file("model.safetensors");
  const about = readModelAbout(path);
  const any = (): boolean => true; // the file lacks what only training needs, and the network of a probe is in the file but not in the learner
  scope(() => learner.root.loadStateDict(readWeights(path, { device }), { ignoreMissing: any, ignoreUnexpected: any }));
  const { judged, skipped } = await judgeDomains(run, domains, temperatureOf(about));
  onJudged(judged);
  const { model, step } = about;
  const unreadable = [...new Map([...lost, ...skipped]).keys()].sort();
  const assessment = assessmentOf(judged, { model, step, classes, heldOut: testDomains, unreadable });
  return { ...assessment, mostWrong: await withHeat(assessment.mostWrong, path, plan) };
}

const VALIDATION: readonly SplitName[] = ["out"];

/**
 * Runs the learner on pictures: all pictures of held-out domains that are in the split, and the validation split of
 * other domains.
 */
export async function judgeDomains(
  { plan, samples, learner, pause }: Pick<EndedRun, "plan" | "samples" | "learner" | "pause">,
  domains: readonly string[],
  temperature: number,
): Promise<{ judged: Judged[]; logits: number[][]; skipped: ReadonlyMap<string, string> }> {
  const { testDomains, classes, dataset } = plan.settings;
  // Where the two splits are different things, an accuracy of both together would be neither.
  const tested: readonly SplitName[] = datasets[dataset]?.tested ? ["in"] : ["in", "out", "uda"];
  using loader = new Loader({ ...loaderOptions(plan, samples), augmentation: null });
  const judged: Judged[] = [];
  const all: number[][] = [];
  for (const domain of domains) {
    const parts = testDomains.includes(domain) ? tested : VALIDATION;
    for (const part of parts)
      for await (const batch of loader.evaluate(domain, part)) {
        using _ = batch;
        const logits = scope(() => learner.predict(batch.x).toNumbers());
        for (const [i, sample] of batch.samples.entries()) {
          const { files, labels } = plan.dataset.domains[sample.domain];
          const name = files?.[sample.index] ?? `${domain}/${sample.index}`;
          const row = logits.slice(i * classes.length, (i + 1) * classes.length);
          all.push(row);
          judged.push(judge(row, { name, domain, label: labels[sample.index] }, temperature));
        }
        await pause();
      }
  }
  return { judged, logits: all, skipped: loader.skipped };
}

/** Adds heat maps to the worst mistakes, if the model supports them. */
export async function withHeat(
  wrong: readonly WrongPicture[],
  path: string,
  { dataset }: Pick<Plan, "dataset">,
): Promise<WrongPicture[]> {
  if (wrong.length === 0 || dataset.kind !== "pictures") return [...wrong];
  using model = await loadModel(path);
  if (!hasHeatMaps(model)) return [...wrong];
  const explained: WrongPicture[] = [];
  for (const each of wrong) {
    const picture = await decodeFile(resolve(dataset.root, each.path), { upright: dataset.upright }).catch(() => null);
    const heat = picture && heatMapOf(model, picture, model.classes.indexOf(each.predicted));
    // Two decimals are more than visible, and keep the file small and reproducible.
    explained.push(heat ? { ...each, heat: heat.map((row) => row.map((value) => Number(value.toFixed(2)))) } : each);
  }
  return explained;
}
