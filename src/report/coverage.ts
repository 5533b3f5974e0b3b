/**
 * How often the intervals of a report contain the true difference, found by resampling the residuals of real runs instead of drawing
 * from the noise that a t interval assumes.
 *
 * A simulated trial is the difference of two methods, drawn at random, in one of their trials, drawn at random: each method's mean
 * over trials is removed first, so that the true difference is zero, and what is left is inflated by √(n / (n − 1)), since removing the
 * mean of n trials shrinks it. The held-out domains of a trial stay together, and both methods are taken in the same trial, as they
 * are paired. A study has three trials or so, and a sample of three out of three residuals is often constant, so all pairs of
 * methods on a dataset are pooled; that mixes methods of different noise, and so has heavier tails than one comparison.
 */

import { keyedRandom } from "../engine/philox.js";
import { mean } from "../selection/mean.js";
import { overTrials } from "../selection/trial-statistics.js";
import { datasetTitle } from "../settings/names.js";
import { isLateKnown, lateAccuracy } from "./late-training.js";
import type { Outcome } from "./outcome.js";
import type { Measure } from "./paired.js";
import type { TextTable } from "./text-table.js";
import type { ReportedResult } from "./whole-domain.js";

const TRIALS = [3, 5, 10] as const;
const STUDIES = 10_000;

/** With fewer methods there are too few pairs of them: residuals take a handful of values, and samples of three are often constant. */
const FEWEST_METHODS = 6;

/** As many standard errors a reader takes for 95 % who does not count trials. */
const NORMAL = 1.96;

export interface Coverage {
  readonly dataset: string;
  /** `mean over 4 domains, chosen steps`. */
  readonly title: string;
  /** Methods and trials that residuals were taken from. */
  readonly methods: number;
  readonly trials: number;
  /** By the number of simulated trials, shares of the simulated studies whose interval contains the truth. */
  readonly simulated: readonly { readonly trials: number; readonly t: number; readonly normal: number }[];
}

/** The coverage on each dataset, by the methods that have every run, where there are six or more of them in two trials or more. */
export function coverages(outcome: Outcome): Coverage[] {
  return outcome.datasets.flatMap((dataset) => {
    const [domains, trials] = [outcome.heldOutOf(dataset), outcome.trialsOf(dataset)];
    const whole = outcome.methods
      .map(({ key }) => ({ results: outcome.resultsOf(key, dataset) }))
      .filter(({ results }) => results.length === domains.length * trials.length);
    if (trials.length < 2) return [];
    const late = whole.filter(({ results }) => results.every(({ choice: { run } }) => isLateKnown(run)));
    const outcomes: [string, readonly { results: ReportedResult[] }[], Measure][] = [
      ["chosen steps", whole, ({ choice }) => choice.test],
      ["second half of training", late, lateAccuracy],
    ];
    return outcomes
      .filter(([, from]) => from.length >= FEWEST_METHODS)
      .flatMap(([name, from, measure]) => {
        const residuals = from.map(({ results }) => residualsOf(results, { domains, trials, measure }));
        const about = { dataset, methods: from.length, trials: trials.length };
        return [
          { ...about, title: `mean over ${domains.length} domains, ${name}`, simulated: simulate(residuals, "mean") },
          { ...about, title: `one domain, ${name}`, simulated: simulate(residuals, "one") },
        ];
      });
  });
}

/** A method's values by domain and trial, less their mean over trials, inflated by what that takes off. */
function residualsOf(
  results: readonly ReportedResult[],
  { domains, trials, measure }: { domains: readonly string[]; trials: readonly number[]; measure: Measure },
): number[][] {
  const inflation = Math.sqrt(trials.length / (trials.length - 1));
  return domains.map((domain) => {
    const values = trials.map((seed) =>
      measure(results.find(({ testDomain, trialSeed }) => testDomain === domain && trialSeed === seed)!),
    );
    const centre = mean(values);
    return values.map((value) => inflation * (value - centre));
  });
}

/** By method, by domain, the residuals of the trials. */
export type Residuals = readonly (readonly (readonly number[])[])[];

/** Draws studies of each number of trials, of the mean over all domains or of one, and counts the intervals that contain zero. */
export function simulate(residuals: Residuals, of: "mean" | "one"): Coverage["simulated"] {
  const random = keyedRandom(0, "report", "coverage", of);
  const [methods, domains, own] = [residuals.length, residuals[0].length, residuals[0][0].length];
  const draw = (domain: number | null): number => {
    const one = random.integer(methods);
    const other = (one + 1 + random.integer(methods - 1)) % methods;
    const [first, second] = [Math.min(one, other), Math.max(one, other)]; // always the same way round: skewness stays
    const trial = random.integer(own);
    const at = (i: number): number => residuals[second][i][trial] - residuals[first][i][trial];
    return domain === null ? mean(residuals[0].map((_, i) => at(i))) : at(domain);
  };
  return TRIALS.map((trials) => {
    let [t, normal] = [0, 0];
    for (let i = 0; i < STUDIES; i++) {
      const domain = of === "one" ? random.integer(domains) : null;
      const { mean: centre, interval, error } = overTrials(Array.from({ length: trials }, () => draw(domain)));
      if (interval![0] <= 0 && interval![1] >= 0) t++;
      if (Math.abs(centre) <= NORMAL * error!) normal++;
    }
    return { trials, t: t / STUDIES, normal: normal / STUDIES };
  });
}

/** Coverage as a table of texts, in percent. */
export function coverageTable(found: readonly Coverage[]): TextTable {
  const percent = (share: number): string => (100 * share).toFixed(1);
  return {
    title: "Coverage of the 95% intervals",
    words: [
      `How often an interval contains the true difference, in percent of ${STUDIES.toLocaleString("en-US")} simulated studies of 3, 5 and 10 trials. Trials are drawn from the residuals of these runs, not from the noise that the interval assumes: the difference of two methods in one of their trials, each method's mean over trials removed and the rest multiplied by √(n/(n − 1)) for n trials, the held-out domains of a trial together. All pairs of methods on a dataset are pooled.`,
      `t: Student's t interval over trials, which this report prints. ±${NORMAL} s.e.: ${NORMAL} standard errors on either side of the mean, which is too narrow for few trials.`,
    ],
    head: [
      ...["difference", "methods × trials"],
      ...["t", `±${NORMAL} s.e.`].flatMap((name) => TRIALS.map((trials) => `${name}, ${trials} trials`)),
    ],
    rows: found.map(({ dataset, title, methods, trials, simulated }) => [
      ...[`${datasetTitle(dataset)}, ${title}`, `${methods} × ${trials}`],
      ...simulated.map(({ t }) => percent(t)),
      ...simulated.map(({ normal }) => percent(normal)),
    ]),
    notes: [],
  };
}
