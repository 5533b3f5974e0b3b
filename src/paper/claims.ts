/**
 * The paper's claims, each judged on the numbers it prints and on the runs at hand. A claim about five datasets is not
 * judged on fewer: what there is is told, and the verdict stays open.
 */

import type { Method, StoredRun } from "../records/index.js";
import { oneDecimal } from "../selection/cells.js";
import { datasetCell, type GroupResult } from "../selection/index.js";
import { mean } from "../selection/mean.js";
import { bareName, datasetTitle, paperName, variantBesidesPenalties } from "../settings/names.js";
import { inferenceVerdict } from "./claim-inference.js";
import { type PublishedNumber, paperDatasets, publishedDataset } from "./published.js";

export interface Verdict {
  /** `open`: not enough to tell. */
  readonly verdict: "holds" | "smaller" | "fails" | "open" | "no runs";
  readonly why: string;
}

/** `holds: 65.0 − 63.3 = +1.7`. */
export const verdictText = ({ verdict, why }: Verdict): string => `${verdict}: ${why}`;

/** What claims are judged on: the runs at hand and what selection chose of them, as reports have it. */
export interface JudgedRuns {
  readonly methods: readonly NamedMethod[];
  readonly results: readonly GroupResult[];
  readonly stored: readonly StoredRun[];
  /** What was set by hand in all runs alike. */
  readonly common: readonly string[];
  domainsOf(dataset: string): readonly string[];
  trialsOf(dataset: string): readonly number[];
  resultsOf(method: string, dataset: string): readonly GroupResult[];
}

interface NamedMethod {
  readonly key: string;
  readonly title: string;
  readonly method: Method;
}

export interface JudgedClaim {
  readonly claim: string;
  readonly published: Verdict;
  readonly ours: Verdict;
}

/** In points of accuracy. */
type Percent = Pick<PublishedNumber, "mean" | "error">;
type Accuracy = (method: string, dataset: string) => Percent | null;
interface Difference extends Percent {
  readonly dataset: string;
}

interface GainClaim {
  readonly claim: string;
  readonly method: string;
  readonly over: string;
  /** Points of accuracy. */
  readonly gain: number;
  readonly datasets: readonly string[];
  /** What a reader of the published numbers must know. */
  readonly caution?: string;
}

/** Rows the paper quotes from DomainBed were trained a third as long on DomainNet as its own (5,001 and 15,001 steps). */
const CAUTION =
  "DomainNet ran 5,001 steps in DomainBed, which the baseline is quoted from, and 15,001 in the code behind NU";

const gains: readonly GainClaim[] = [
  {
    claim: "ERM-NU is 1.7 points better than ERM on average",
    method: "ERM-NU",
    over: "ERM",
    gain: 1.7,
    datasets: paperDatasets,
    caution: CAUTION,
  },
  {
    claim: "SWAD-NU is 0.9 points better than SWAD on average",
    method: "SWAD-NU",
    over: "SWAD",
    gain: 0.9,
    datasets: paperDatasets,
  },
  {
    claim: "ERM-NU is 3.5 points better than ERM on TerraIncognita",
    method: "ERM-NU",
    over: "ERM",
    gain: 3.5,
    datasets: ["terra-incognita"],
  },
  {
    claim: "Mixup-NU is 3.1 points better than Mixup on DomainNet",
    method: "Mixup-NU",
    over: "Mixup",
    gain: 3.1,
    datasets: ["domain-net"],
    caution: CAUTION,
  },
];

const pairs = [
  ["ERM-NU", "ERM"],
  ["SWAD-NU", "SWAD"],
  ["Mixup-NU", "Mixup"],
] as const;

/** Every claim with its two verdicts. */
export function judgeClaims(outcome: JudgedRuns): JudgedClaim[] {
  const printed: Accuracy = (method, dataset) => publishedDataset(method, dataset);
  // With runs of two protocols at hand, what the penalty is added to is taken in the protocol of the penalized runs.
  const measured = (method: string, over: string): Accuracy => {
    const variant = chosen(outcome, method)?.method;
    return (name, dataset) =>
      ownAccuracy(
        outcome,
        chosen(outcome, name, name === over && variant ? variantBesidesPenalties(variant) : undefined),
        dataset,
      );
  };
  const everywhere = pairs.map(
    ([method, over]): JudgedClaim => ({
      claim: `${method} is better than ${over} on all five datasets`,
      published: judgeEverywhere(method, over, printed),
      ours: withSettings(outcome, judgeEverywhere(method, over, measured(method, over))),
    }),
  );
  return [
    ...gains.map((claim) => ({
      claim: claim.claim,
      published: judgePublishedGain(claim),
      ours: withSettings(outcome, judgeOwnGain(claim, measured(claim.method, claim.over))),
    })),
    ...everywhere,
    {
      claim: "The penalty leaves inference unchanged",
      published: {
        verdict: "open",
        why: "the paper prints no times; it holds by construction, for the penalty is in the training loss only",
      },
      ours: inferenceVerdict(outcome),
    },
  ];
}

/**
 * The row that a name stands for: the one of this variant; else the one with nothing set by hand that others have not; else
 * the only one. Of several others none, for which of them the claim is about cannot be told.
 */
function chosen({ methods }: JudgedRuns, title: string, variant?: string): NamedMethod | undefined {
  const named = methods.filter(({ method }) => bareName(paperName(method)) === bareName(title));
  return (
    named.find(({ method }) => method.variant === variant) ??
    named.find((each) => each.title === paperName(each.method)) ??
    (named.length === 1 ? named[0] : undefined)
  );
}

/** Percent, over whole cells only: every domain of the dataset in every trial there is. */
function ownAccuracy(outcome: JudgedRuns, method: NamedMethod | undefined, dataset: string): Percent | null {
  if (!method) return null;
  const whole = outcome.trialsOf(dataset).length * outcome.domainsOf(dataset).length;
  if (whole === 0 || outcome.resultsOf(method.key, dataset).length !== whole) return null;
  const { mean, error } = datasetCell(outcome.results, { dataset, method: method.key })!;
  return { mean: 100 * mean, error: 100 * error };
}

const signed = (value: number): string => `${value > 0 ? "+" : ""}${oneDecimal(value)}`;

/** By what is printed: a gain of 1.66 is one of 1.7. */
function judge(difference: number, gain: number): Verdict["verdict"] {
  if (Number(oneDecimal(difference)) >= gain) return "holds";
  return difference > 0 ? "smaller" : "fails";
}

/** On the paper's own averages, where the claim is about all datasets: its numbers are rounded already. */
function judgePublishedGain({ method, over, gain, datasets, caution }: GainClaim): Verdict {
  const dataset = datasets.length === 1 ? datasets[0] : undefined;
  const [a, b] = [method, over].map((name) => publishedDataset(name, dataset)!.mean);
  const why = `${oneDecimal(a)} − ${oneDecimal(b)} = ${signed(a - b)}${caution ? ` (${caution})` : ""}`;
  return { verdict: judge(a - b, gain), why };
}

/** The datasets on which both are known, with the differences and their standard errors, taken as independent. */
function differencesOf(method: string, over: string, datasets: readonly string[], accuracy: Accuracy): Difference[] {
  return datasets.flatMap((dataset) => {
    const [a, b] = [accuracy(method, dataset), accuracy(over, dataset)];
    if (a === null || b === null) return [];
    const error = a.error === null || b.error === null ? null : Math.hypot(a.error, b.error);
    return [{ dataset, mean: a.mean - b.mean, error }];
  });
}

const list = (differences: readonly Difference[]): string =>
  differences
    .map(({ dataset, mean, error }) => {
      const range = error === null ? "" : ` ± ${oneDecimal(error)}`;
      return `${datasetTitle(dataset)} ${signed(mean)}${range}`;
    })
    .join(", ");

function judgeOwnGain({ method, over, gain, datasets }: GainClaim, accuracy: Accuracy): Verdict {
  const found = differencesOf(method, over, datasets, accuracy);
  if (found.length === 0) return noRuns(method, over, datasets);
  if (found.length < datasets.length)
    return { verdict: "open", why: `${list(found)}; whole results on ${found.length} of ${datasets.length} datasets` };
  const difference = mean(found.map((each) => each.mean));
  const why = datasets.length === 1 ? list(found) : `${signed(difference)} (${list(found)})`;
  return { verdict: judge(difference, gain), why };
}

function judgeEverywhere(method: string, over: string, accuracy: Accuracy): Verdict {
  const found = differencesOf(method, over, paperDatasets, accuracy);
  if (found.length === 0) return noRuns(method, over, paperDatasets);
  const worse = found.some((each) => !(Number(oneDecimal(each.mean)) > 0));
  const whole = found.length === paperDatasets.length;
  // One dataset on which it is no better decides; for the contrary all are needed.
  return { verdict: worse ? "fails" : whole ? "holds" : "open", why: list(found) };
}

/** A verdict on runs that are not as the protocol has them says so. */
function withSettings({ common }: JudgedRuns, { verdict, why }: Verdict): Verdict {
  const apart = verdict === "no runs" || common.length === 0;
  return { verdict, why: apart ? why : `${why} (set by hand: ${common.join(" ")})` };
}

const noRuns = (method: string, over: string, datasets: readonly string[]): Verdict => ({
  verdict: "no runs",
  why: `needs every domain of ${datasets.map(datasetTitle).join(", ")} held out with ${method} and with ${over}, one variant of each`,
});
