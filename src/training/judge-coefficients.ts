/** Evaluates a fine-tuned run at several points between its initial and final weights, on the same pictures. */

import type { JudgedLogits } from "../analysis/judged.js";
import { WiseFt } from "../averaging/wise-ft.js";
import { scope } from "../engine/scope.js";
import { temperatureOf } from "../model/about.js";
import { readModelAbout } from "../model/index.js";
import { judgeDomains } from "./assess-run.js";
import type { EndedRun } from "./train.js";

/** Returns the predictions on the pictures of some domains for each coefficient. It changes the learner's weights. */
export async function judgeCoefficients(
  run: EndedRun,
  domains: readonly string[],
  coefficients: readonly number[],
): Promise<JudgedLogits[][]> {
  const follower = run.followers.find((each) => each instanceof WiseFt);
  if (!follower) throw new TypeError("a run without wise-ft has nothing to interpolate");
  const temperature = temperatureOf(readModelAbout(run.folder.file("model.safetensors")));
  const found: JudgedLogits[][] = [];
  for (const coefficient of coefficients) {
    scope(() => run.learner.root.loadStateDict(follower.weightsAt(coefficient), { ignoreMissing: () => true }));
    const { judged, logits } = await judgeDomains(run, domains, temperature);
    // Five digits are more than measures show, and keep the file small.
    found.push(judged.map((each, i) => ({ ...each, logits: logits[i].map((value) => Number(value.toPrecision(5))) })));
  }
  return found;
}
