/** The messages of a run, which are printed on the terminal and written to its log. */

import type { AverageSummary } from "../averaging/index.js";
import type { DatasetDefinition } from "../data/dataset.js";
import { countOf } from "../data/show-name.js";
import { byteText } from "../files/byte-text.js";
import { ACCURACY, CURRENT, type RunRecord } from "../records/record.js";
import type { Plan } from "../settings/resolve.js";
import { validationMean } from "./evaluate.js";
import type { Learner } from "./learner.js";

/** Describes penalties that would only become active after the last step. Such a run equals the plain method. */
export const neverActive = ({ regularizers, settings: { steps } }: Plan): string[] =>
  regularizers
    .filter((regularizer) => !regularizer.isActive(steps - 1))
    .map(
      ({ id, settings: { weight, warmup } }) =>
        `${id} has no effect in this run of ${steps} steps, because ${weight === 0 ? "its weight is 0" : `it becomes active at step ${warmup}; use ${id}.warmup=0 to apply it from the start`}`,
    );

/** Describes how many parameters are trained. */
export function sizeWords({ trained, all, bytes }: ReturnType<Learner["size"]>): string {
  const count = (value: number): string => value.toLocaleString("en");
  const share = `${count(trained)} parameters (${((100 * trained) / all).toPrecision(2)} % of ${count(all)})`;
  return `trains ${trained === all ? `all ${count(all)} parameters` : share}; weights, gradients and optimizer need ${byteText(bytes)} of memory`;
}

/** Describes what a final average contains. */
export function averageWords(id: string, { count, of = "steps", from, to }: AverageSummary): string {
  const items =
    of === "segments"
      ? `${count} ${count === 1 ? "mean" : "means"} of the weights between two evaluations (as in SWAD's code, some can count twice)`
      : `the weights after ${count} ${count === 1 ? "step" : "steps"}`;
  return `${id}: average of ${items}, from step ${from} to ${to}`;
}

const percent = (value: number): string => (100 * value).toFixed(1);

interface EvaluatedDomains {
  readonly testDomains: readonly string[];
  readonly trainDomains: readonly string[];
  /** What the two splits of a held-out domain are, if they differ. */
  readonly tested?: DatasetDefinition["tested"];
}

/** Returns one line per evaluated model: its loss, and its accuracy on validation pictures and on held-out domains. */
export function evaluationWords(
  step: number,
  rows: readonly RunRecord[],
  { testDomains, trainDomains, tested }: EvaluatedDomains,
): string[] {
  return [...new Set(rows.map(({ model }) => model))].map((model) => {
    const own = rows.filter((row) => row.model === model);
    const accuracy = (domain: string, split: "in" | "out"): string => {
      const row = own.find((each) => each.metric === ACCURACY && each.domain === domain && each.split === split);
      return percent(row?.value ?? Number.NaN);
    };
    const shown = testDomains.map((domain) =>
      tested
        ? `${domain}: ${tested.in} ${accuracy(domain, "in")}, ${tested.out} ${accuracy(domain, "out")}`
        : `${domain} ${accuracy(domain, "in")}`,
    );
    const held = shown.length === 0 ? "" : `, held out ${shown.join(", ")} %`;
    const validation = percent(validationMean(own, ACCURACY, trainDomains));
    const loss = own.find(({ domain, metric }) => domain === null && metric === "loss");
    const name = model === CURRENT ? "" : `${model}: `;
    return `step ${step}: ${name}${loss ? `loss ${loss.value.toFixed(4)}, ` : ""}validation ${validation} %${held}`;
  });
}

/** Describes how many pictures could not be read, with one example. The log lists all of them. */
export function lostWords(lost: readonly (readonly [name: string, problem: string])[]): string {
  const more = lost.length > 1 ? `; log.txt lists ${lost.length - 1} more` : "";
  return `note: skipped: ${countOf(lost.length, "picture")} that cannot be read (${lost[0][1]}${more})`;
}
