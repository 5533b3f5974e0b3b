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
export async function assessRun({ plan, folder, samples, learner, lost, pause }: EndedRun): Promise<Assessment> {
  const { testDomains, domains, device, classes } = plan.settings;
  const path = folder.file("model.safetensors");
  const about = readModelAbout(path);
  const any = (): boolean => true; // what only training needs is not in the file; a probe's network is, and is not in the learner
  scope(() => learner.root.loadStateDict(readWeights(path, { device }), { ignoreMissing: any, ignoreUnexpected: any }));
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
          judged.push(judge(row, { name, domain, label: labels[sample.index] }, temperatureOf(about)));
        }
        await pause();
      }
  }
  const { model, step } = about;
  const unreadable = [...new Map([...lost, ...loader.skipped]).keys()].sort();
  return assessmentOf(judged, { model, step, classes, heldOut: testDomains, unreadable });
}
