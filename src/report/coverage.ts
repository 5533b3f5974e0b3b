/**
 * How often the intervals of a report contain the true difference, estimated by resampling the residuals of real runs
 * instead of drawing from the noise that a t interval assumes.
 *
 * A simulated trial is the difference of two random methods in a random trial. The mean of each method over trials is
 * subtracted first, so that the true difference is zero, and the residuals are multiplied by √(n / (n − 1)), because
 * subtracting the mean of n trials shrinks them. The held-out domains of a trial stay together, and both methods are
 * taken from the same trial, as they are paired. A study has about three trials, and a sample of three out of three
 * residuals is often constant, so all pairs of methods on a dataset are pooled. This mixes methods with different noise
 * and has heavier tails than one comparison.
 */

import { keyedRandom } from "../engine/philox.js";
import { mean } from "../selection/mean.js";
import { summarizeTrials } from "../selection/trial-statistics.js";
import { datasetTitle } from "../settings/names.js";
import { isLateKnown, lateAccuracy } from "./late-training.js";
import type { Outcome } from "./outcome.js";
import type { Measure } from "./paired.js";
import type { TextTable } from "./text-table.js";
import type { ReportedResult } from "./whole-domain.js";

const TRIALS = [3, 5, 10] as const;
const STUDIES = 10_000;

/**
 * With fewer methods there are too few pairs: the residuals take only a few values, and samples of three are often
 * constant.
 */
const FEWEST_METHODS = 6;

/** The number of standard errors that a reader might use for 95 % without counting trials. */
const NORMAL = 1.96;

export interface Coverage {
  readonly dataset: string;
  /** `mean over 4 domains, chosen steps`. */
  readonly title: string;
  /** The numbers of methods and trials behind the residuals. */
  readonly methods: number;
  readonly trials: number;
  /** By the number of simulated trials, the shares of simulated studies whose interval contains the true value. */
  readonly simulated: readonly { readonly trials: number; readonly t: number; readonly normal: number }[];
}

/**
 * The coverage on each dataset, from the methods that have every run, if there are at least six of them with at least
 * two trials.
 */
export function coverages(outcome: Outcome): Coverage[] {
  return outcome.datasets.flatMap((dataset) => {
    const [domains, trials] = [outcome.heldOutOf(dataset), outcome.trialsOf(dataset)];
    const whole = outcome.methods
      .map(({ key }) => ({ results: outcome.resultsOf(key, dataset) }))
      .filter(({ results }) => results.length === domains.length * trials.length);
    if (trials.length < 2) return [];
    const late = whole.filter(({ results }) => results.every(({ choice: { run } }) => isLateKnown(run)));
    const outcomes: [string, readonly { results: readonly ReportedResult[] }[], Measure][] = [
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

/** The values of a method by domain and trial minus their mean over trials, corrected for the subtraction. */
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

/** The residuals of the trials, by method and domain. */
export type Residuals = readonly (readonly (readonly number[])[])[];

/**
 * Simulates studies for each number of trials, of the mean over all domains or of one, and counts the intervals that
 * contain zero.
 */
export function simulate(residuals: Residuals, of: "mean" | "one"): Coverage["simulated"] {
  const random = keyedRandom(0, "report", "coverage", of);
  const [methods, domains, own] = [residuals.length, residuals[0].length, residuals[0][0].length];
  const draw = (domain: number | null): number => {
    const one = random.integer(methods);
    const other = (one + 1 + random.integer(methods - 1)) % methods;
    const [first, second] = [Math.min(one, other), Math.max(one, other)]; // always in the same order, which preserves skewness
    const trial = random.integer(own);
    const at = (i: number): number => residuals[second][i][trial] - residuals[first][i][trial];
    return domain === null ? mean(residuals[0].map((_, i) => at(i))) : at(domain);
  };
  return TRIALS.map((trials) => {
    let [t, normal] = [0, 0];
    for (let i = 0; i < STUDIES; i++) {
      const domain = of === "one" ? random.integer(domains) : null;
      const { mean: centre, interval, error } = summarizeTrials(Array.from({ length: trials }, () => draw(domain)));
      if (interval === null || error === null) continue; // equal trials have no interval, which counts as one that misses
      if (interval[0] <= 0 && interval[1] >= 0) t++;
      if (Math.abs(centre) <= NORMAL * error) normal++;
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
      `How often an interval contains the true difference, in percent of ${STUDIES.toLocaleString("en-US")} simulated studies of 3, 5 and 10 trials. Trials are drawn from the residuals of these runs, not from the noise that the interval assumes: the difference of two methods in one of their trials, after subtracting each method's mean over trials and multiplying by √(n/(n − 1)) for n trials. The held-out domains of a trial stay together, and all pairs of methods on a dataset are pooled.`,
      `t: Student's t interval over trials, which this report prints. ±${NORMAL} s.e.: ${NORMAL} standard errors on each side of the mean, which is too narrow for few trials.`,
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
