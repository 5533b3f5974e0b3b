/**
 * The paper's claims, each checked on the published numbers and on the available runs. A claim about five datasets is
 * not decided on fewer: the available differences are printed, and the verdict stays open.
 *
 * For runs, the verdict follows from the t interval over trials of the paired differences. A gain holds if the interval
 * excludes zero but not the claimed gain, and is smaller if it excludes the claimed gain. P-values are corrected with
 * Holm's method: those of the gains for the number of gains, those of the datasets of one claim for their number.
 */

import { type FixedSettings, fixedText } from "../records/fixed-settings.js";
import type { Method, StoredRun } from "../records/index.js";
import { oneDecimal } from "../selection/cells.js";
import type { GroupResult } from "../selection/index.js";
import { intervalPoints, pText, signedPoints } from "../selection/signed-points.js";
import { areEqualTrials, holm, pAgainst, SIGNIFICANT, type TrialSummary } from "../selection/trial-statistics.js";
import { bareName, besidesPenalties, datasetTitle, paperName } from "../settings/names.js";
import { inferenceVerdict } from "./claim-inference.js";
import { type PublishedNumber, paperDatasets, publishedDataset } from "./published.js";

export interface Verdict {
  /** `open` means that the evidence is not sufficient. */
  readonly verdict: "holds" | "smaller" | "fails" | "open" | "no runs";
  readonly why: string;
}

/** Returns a text such as `holds: 65.0 − 63.3 = +1.7`. */
export const verdictText = ({ verdict, why }: Verdict): string => `${verdict}: ${why}`;

/** The data for checking claims: the available runs and the selected results, as in reports. */
export interface JudgedRuns {
  readonly methods: readonly NamedMethod[];
  readonly stored: readonly StoredRun[];
  /** Settings that were fixed manually in all runs. */
  readonly common: FixedSettings;
  domainsOf(dataset: string): readonly string[];
  trialsOf(dataset: string): readonly number[];
  resultsOf(method: string, dataset: string): readonly GroupResult[];
}

/**
 * The accuracy of a method minus that of another on a dataset, over its domains, or over several datasets if `dataset`
 * is null.
 */
export interface OwnDifference extends TrialSummary {
  readonly dataset: string | null;
  /** The number of pairs of runs. */
  readonly pairs: number;
}

/** Returns the paired differences of two methods, given by key, on some datasets. */
export type Compare = (method: string, over: string, datasets: readonly string[]) => readonly OwnDifference[];

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

/** A published difference, in percentage points of accuracy. */
interface Difference extends Pick<PublishedNumber, "mean" | "error"> {
  readonly dataset: string;
}

interface GainClaim {
  readonly claim: string;
  readonly method: string;
  readonly over: string;
  /** The claimed gain in percentage points of accuracy. */
  readonly gain: number;
  readonly datasets: readonly string[];
  /** A caveat about the published numbers. */
  readonly caution?: string;
}

/**
 * DomainBed's rows, which the paper quotes, were trained a third as long on DomainNet as the paper's own rows (5,001
 * and 15,001 steps).
 */
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

/** Returns every claim with its two verdicts. */
export function judgeClaims(outcome: JudgedRuns, compare: Compare): JudgedClaim[] {
  const ownGains = judgeOwnGains(gains.map((claim) => ({ ...claim, found: ownDifferences(outcome, compare, claim) })));
  const everywhere = pairs.map(([method, over]): JudgedClaim => {
    const found = ownDifferences(outcome, compare, { method, over, datasets: paperDatasets });
    return {
      claim: `${method} is better than ${over} on all five datasets`,
      published: judgePublishedEverywhere(method, over),
      ours: withSettings(outcome, judgeOwnEverywhere(method, over, found)),
    };
  });
  return [
    ...gains.map((claim, i) => ({
      claim: claim.claim,
      published: judgePublishedGain(claim),
      ours: withSettings(outcome, ownGains[i]),
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
 * Returns the row for a name: the one with these fixed settings; otherwise the one without fixed settings that others
 * lack; otherwise the only one. If there are several others, it returns none, because it is unknown which one the claim
 * means.
 */
function chosen({ methods }: JudgedRuns, title: string, fixed?: FixedSettings): NamedMethod | undefined {
  const named = methods.filter(({ method }) => bareName(paperName(method)) === bareName(title));
  return (
    (fixed && named.find(({ method }) => fixedText(method.fixed) === fixedText(fixed))) ??
    named.find((each) => each.title === paperName(each.method)) ??
    (named.length === 1 ? named[0] : undefined)
  );
}

/** A claim's differences on the available runs. */
interface Found {
  /** Differences on complete datasets, which have every domain in every trial. */
  readonly byDataset: readonly (OwnDifference & { readonly dataset: string })[];
  /** The difference over all datasets of the claim, or null if one is incomplete. */
  readonly overall: TrialSummary | null;
}

function ownDifferences(
  outcome: JudgedRuns,
  compare: Compare,
  { method, over, datasets }: Pick<GainClaim, "method" | "over" | "datasets">,
): Found {
  const first = chosen(outcome, method);
  // If there are runs of two protocols, the baseline is taken from the protocol of the penalized runs.
  const second = chosen(outcome, over, first && besidesPenalties(first.method));
  if (!first || !second) return { byDataset: [], overall: null };
  const size = (dataset: string): number => outcome.trialsOf(dataset).length * outcome.domainsOf(dataset).length;
  const isWhole = (dataset: string): boolean =>
    size(dataset) > 0 && [first, second].every(({ key }) => outcome.resultsOf(key, dataset).length === size(dataset));
  const rows = compare(first.key, second.key, datasets.filter(isWhole));
  // Runs on different splits do not form pairs.
  const byDataset = rows.flatMap((row) =>
    row.dataset !== null && row.pairs === size(row.dataset) ? [{ ...row, dataset: row.dataset }] : [],
  );
  const [overall = null] = datasets.length === 1 ? byDataset : rows.filter(({ dataset }) => dataset === null);
  return { byDataset, overall: byDataset.length === datasets.length ? overall : null };
}

const signed = (value: number): string => `${value > 0 ? "+" : ""}${oneDecimal(value)}`;

/** Compares rounded numbers: a gain of 1.66 counts as 1.7. */
function judge(difference: number, gain: number): Verdict["verdict"] {
  if (Number(oneDecimal(difference)) >= gain) return "holds";
  return difference > 0 ? "smaller" : "fails";
}

/**
 * Checks a gain on the paper's own averages if the claim is about all datasets, because its numbers are already
 * rounded.
 */
function judgePublishedGain({ method, over, gain, datasets, caution }: GainClaim): Verdict {
  const dataset = datasets.length === 1 ? datasets[0] : undefined;
  const [a, b] = [method, over].map((name) => publishedDataset(name, dataset)!.mean);
  const why = `${oneDecimal(a)} − ${oneDecimal(b)} = ${signed(a - b)}${caution ? ` (${caution})` : ""}`;
  return { verdict: judge(a - b, gain), why };
}

function judgePublishedEverywhere(method: string, over: string): Verdict {
  const found = paperDatasets.map((dataset): Difference => {
    const [a, b] = [method, over].map((name) => publishedDataset(name, dataset)!);
    const error = a.error === null || b.error === null ? null : Math.hypot(a.error, b.error); // assumes independence
    return { dataset, mean: a.mean - b.mean, error };
  });
  const worse = found.some((each) => !(Number(oneDecimal(each.mean)) > 0));
  const why = found.map(({ dataset, mean, error }) => {
    const range = error === null ? "" : ` ± ${oneDecimal(error)}`;
    return `${datasetTitle(dataset)} ${signed(mean)}${range}`;
  });
  return { verdict: worse ? "fails" : "holds", why: why.join(", ") };
}

/** A difference with its interval, its p-value and the corrected one. */
function points(summary: TrialSummary, corrected: number | null): string {
  const { mean, trials, interval, p } = summary;
  const unknown = areEqualTrials(summary) ? `equal in all ${trials} trials, no interval` : "one trial, no interval";
  const tested = `${intervalPoints(interval)}; p ${pText(p)}, Holm ${pText(corrected)}`;
  return `${signedPoints(mean)} (${interval ? tested : unknown})`;
}

/** Differences by dataset, whose p-values are corrected for their number. */
function list(differences: Found["byDataset"]): string {
  const corrected = holm(differences.map(({ p }) => p));
  return differences.map((each, i) => `${datasetTitle(each.dataset)} ${points(each, corrected[i])}`).join(", ");
}

function judgeOwnGains(claims: readonly (GainClaim & { readonly found: Found })[]): Verdict[] {
  const better = holm(claims.map(({ found }) => found.overall?.p ?? null));
  const apart = holm(claims.map(({ found, gain }) => found.overall && pAgainst(found.overall, gain / 100)));
  return claims.map(({ method, over, gain, datasets, found: { byDataset, overall } }, i) => {
    if (byDataset.length === 0) return noRuns(method, over, datasets);
    if (overall === null) {
      const whole = `whole results on ${byDataset.length} of ${datasets.length} datasets`;
      return { verdict: "open", why: `${list(byDataset)}; ${whole}` };
    }
    const all = points(overall, better[i]);
    const why = datasets.length === 1 ? `${datasetTitle(datasets[0])} ${all}` : `${all}: ${list(byDataset)}`;
    return { verdict: judgeGain(overall, gain, { better: better[i], apart: apart[i] }), why };
  });
}

/** Decides with the p-values against no difference and against the claimed gain. Both are null for a single trial and for equal trials. */
function judgeGain(
  { mean }: TrialSummary,
  gain: number,
  { better, apart }: { better: number | null; apart: number | null },
): Verdict["verdict"] {
  const differs = better !== null && better < SIGNIFICANT;
  if (differs && mean < 0) return "fails";
  if (apart !== null && apart < SIGNIFICANT && 100 * mean < gain) return "smaller";
  return differs ? "holds" : "open";
}

/**
 * The claim fails if the method is worse on any dataset, corrected for their number. It holds only if the method is
 * better on each of them.
 */
function judgeOwnEverywhere(method: string, over: string, { byDataset: found }: Found): Verdict {
  if (found.length === 0) return noRuns(method, over, paperDatasets);
  const corrected = holm(found.map(({ p }) => p));
  const worse = found.some(({ mean }, i) => mean < 0 && corrected[i] !== null && corrected[i] < SIGNIFICANT);
  const better = found.every(({ mean, p }) => mean > 0 && p !== null && p < SIGNIFICANT);
  const whole = found.length === paperDatasets.length;
  return { verdict: worse ? "fails" : better && whole ? "holds" : "open", why: list(found) };
}

/** Adds fixed settings to the verdict if runs deviate from the protocol. */
function withSettings({ common }: JudgedRuns, { verdict, why }: Verdict): Verdict {
  const byHand = fixedText(common);
  const apart = verdict === "no runs" || byHand === "";
  return { verdict, why: apart ? why : `${why} (set by hand: ${byHand})` };
}

const noRuns = (method: string, over: string, datasets: readonly string[]): Verdict => ({
  verdict: "no runs",
  why: `needs every domain of ${datasets.map(datasetTitle).join(", ")} held out with ${method} and with ${over}, one variant of each`,
});
