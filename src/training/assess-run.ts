/** A run's model on the pictures it was not trained on: each judged once, as it is, and the outcome as an assessment. */

import { type Assessment, assessmentOf } from "../analysis/assessment.js";
import { type Judged, judge } from "../analysis/judged.js";
import { Loader } from "../data/loader.js";
import type { SplitName } from "../data/split.js";
import { scope } from "../engine/scope.js";
import { readWeights } from "../engine/weights.js";
import { temperatureOf } from "../model/about.js";
import { readModelAbout } from "../model/index.js";
import { loaderOptions } from "./samples.js";
import type { EndedRun } from "./train.js";

/** Judges all pictures of held-out domains and the validation parts of the others. The learner is given the model's weights. */
export async function assessRun(run: EndedRun): Promise<Assessment> {
  const { plan, folder, learner, lost } = run;
  const { testDomains, domains, device, classes } = plan.settings;
  const path = folder.file("model.safetensors");
  const about = readModelAbout(path);
  const any = (): boolean => true; // what only training needs is not in the file; a probe's network is, and is not in the learner
  scope(() => learner.root.loadStateDict(readWeights(path, { device }), { ignoreMissing: any, ignoreUnexpected: any }));
  const { judged, skipped } = await judgeDomains(run, domains, temperatureOf(about));
  const { model, step } = about;
  const unreadable = [...new Map([...lost, ...skipped]).keys()].sort();
  return assessmentOf(judged, { model, step, classes, heldOut: testDomains, unreadable });
}

/** Judges pictures with the learner as it is: all of held-out domains that are in the split, the validation parts of others. */
export async function judgeDomains(
  { plan, samples, learner, pause }: Pick<EndedRun, "plan" | "samples" | "learner" | "pause">,
  domains: readonly string[],
  temperature: number,
): Promise<{ judged: Judged[]; skipped: ReadonlyMap<string, string> }> {
  const { testDomains, classes } = plan.settings;
  const loader = new Loader({ ...loaderOptions(plan, samples), augmentation: null });
  const judged: Judged[] = [];
  for (const domain of domains) {
    const parts: readonly SplitName[] = testDomains.includes(domain) ? ["in", "out", "uda"] : ["out"];
    for (const part of parts)
      for await (const batch of loader.evaluate(domain, part)) {
        using _ = batch;
        const logits = scope(() => learner.predict(batch.x).toNumbers());
        for (const [i, sample] of batch.samples.entries()) {
          const { files, labels } = plan.dataset.domains[sample.domain];
          const name = files?.[sample.index] ?? `${domain}/${sample.index}`;
          const row = logits.slice(i * classes.length, (i + 1) * classes.length);
          judged.push(judge(row, { name, domain, label: labels[sample.index] }, temperature));
        }
        await pause();
      }
  }
  return { judged, skipped: loader.skipped };
}
