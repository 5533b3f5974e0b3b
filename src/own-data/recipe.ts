/**
 * Chooses the recipe for a model from own pictures by the accuracy on held-out domains, and estimates the accuracy
 * without bias from the choice. Candidates are ordered by simplicity: the exact probe first, then fine-tuned networks,
 * closer to their initial weights or farther from them.
 */

import type { Share } from "../analysis/assess.js";
import { type Assessment, assessmentOf } from "../analysis/assessment.js";
import { isRight, type Judged, type JudgedLogits, judge } from "../analysis/judged.js";
import { groupBy } from "../group-by.js";
import { type Choice, simplestWithinError } from "../selection/simplest-within-error.js";
import { criticalT } from "../selection/student-t.js";
import { type HeldOutConfidence, heldOutConfidence } from "./held-out-confidence.js";

/** The interpolation from the exact probe (0) to the fine-tuned network (1). */
export const COEFFICIENTS: readonly number[] = [0, 0.25, 0.5, 0.75, 1];

export const recipeFile = "recipe.json";

/** `probe and neighbours`, `fine-tuned, 50 %`. */
export const candidateName = (coefficient: number, neighbours = false): string =>
  coefficient === 0
    ? neighbours
      ? "probe and neighbours"
      : "exact probe"
    : coefficient === 1
      ? "fine-tuned"
      : `fine-tuned, ${Math.round(100 * coefficient)} %`;

/** The predictions of candidates on the same pictures, of domains that were held out together. */
export interface JudgedFold {
  readonly domains: readonly string[];
  /** By candidate, in the order of their coefficients, with the same pictures in the same order. */
  readonly candidates: readonly (readonly (Judged & Partial<JudgedLogits>)[])[];
  /** With neighbours: the predictions of both parts of the first candidate on the same pictures. */
  readonly alone?: { readonly probe: readonly Judged[]; readonly neighbours: readonly Judged[] };
}

export interface CandidateRow {
  readonly name: string;
  readonly coefficient: number;
  /** The number of correct predictions on each held-out domain, and the number of pictures. */
  readonly domains: readonly { readonly name: string; readonly accuracy: number; readonly count: number }[];
  /** The mean over folds with equal weights, its difference to the best, and the standard error of the difference. */
  readonly mean: number;
  readonly below: number;
  readonly error: number;
  readonly chosen: boolean;
}

/** The accuracy of a part of a candidate. */
export type AloneRow = Pick<CandidateRow, "name" | "domains" | "mean">;

/** The temperature of the model, the one that fits held-out domains, and the calibration errors on them with T = 1 and with the fitted one, nested. */
export type RecipeConfidence = Pick<HeldOutConfidence, "temperature" | "fitted" | "errorAtOne" | "errorAtFitted">;

/** The content of `recipe.json`. */
export interface Recipe {
  readonly format: 1;
  /** Whether domains were held out, or a part of the pictures of the training domains. */
  readonly by: "held-out domains" | "validation";
  /** Domains that were held out together, and those among them with nearly identical pictures. */
  readonly folds: readonly (readonly string[])[];
  readonly nearCopies: readonly (readonly string[])[];
  /** The C of the exact probe as in scikit-learn, and the mean recall of the classes for each value that was tried. */
  readonly c: number;
  readonly strengths: readonly { readonly c: number; readonly mean: number }[];
  readonly candidates: readonly CandidateRow[];
  /**
   * The accuracy of both parts of `probe and neighbours`, if that is the first candidate. They are no candidates: on
   * PACS and Office-31, their mean was better than the better one of them as chosen by held-out domains.
   */
  readonly alone?: readonly AloneRow[];
  readonly coefficient: number;
  /** The reason for the choice. */
  readonly reason: string;
  /** The candidate that the other folds chose for the estimate of each fold. */
  readonly nested: readonly { readonly domains: readonly string[]; readonly coefficient: number }[];
  /** The accuracy of each fine-tuned candidate on domains that were kept from everything; absent if there are none. */
  readonly withheld?: readonly { readonly coefficient: number; readonly accuracy: number; readonly count: number }[];
  /** What the confidence of the model is worth on held-out domains; absent in files of earlier versions. */
  readonly confidence?: RecipeConfidence;
  /** How often each fine-tuning was repeated with another seed and split; absent for once. */
  readonly trials?: number;
  /** The number of updates of each fine-tuning run; 0 if there was none. */
  readonly steps: number;
  /** The seconds of each stage. */
  readonly seconds: Readonly<Record<string, number>>;
}

/** The share of trials in which each picture was predicted correctly. */
function rightIn(pictures: readonly Judged[]): number[] {
  const found = groupBy(pictures, ({ name }) => name);
  return [...found.values()].map((all) => all.filter(isRight).length / all.length);
}

/** Chooses among the candidates by some folds. */
export function chooseCandidate(folds: readonly JudgedFold[]): Choice {
  const count = folds[0].candidates.length;
  return simplestWithinError(
    Array.from({ length: count }, (_, i) => folds.map(({ candidates }) => rightIn(candidates[i]))),
  );
}

/** A row for each candidate. */
export function candidateRows(folds: readonly JudgedFold[], coefficients: readonly number[]): CandidateRow[] {
  const { chosen, scores } = chooseCandidate(folds);
  const neighbours = folds.some(({ alone }) => alone !== undefined);
  return coefficients.map((coefficient, i) => ({
    name: candidateName(coefficient, neighbours),
    coefficient,
    domains: folds.flatMap(({ domains, candidates }) => accuracies(domains, candidates[i])),
    ...scores[i],
    chosen: i === chosen,
  }));
}

const accuracies = (domains: readonly string[], judged: readonly Judged[]): CandidateRow["domains"] =>
  domains.map((name) => {
    const own = judged.filter(({ domain }) => domain === name);
    const count = new Set(own.map((each) => each.name)).size;
    return { name, accuracy: own.filter(isRight).length / own.length, count };
  });

/** A row for each part of the candidate with neighbours; none if there is no such candidate. */
export function aloneRows(folds: readonly JudgedFold[]): AloneRow[] {
  if (folds.some(({ alone }) => alone === undefined)) return [];
  return (
    [
      ["exact probe alone", "probe"],
      ["neighbours alone", "neighbours"],
    ] as const
  ).map(([name, part]) => {
    const [{ mean }] = simplestWithinError([folds.map(({ alone }) => rightIn(alone![part]))]).scores;
    return { name, domains: folds.flatMap(({ domains, alone }) => accuracies(domains, alone![part])), mean };
  });
}

/**
 * The expected accuracy on a new domain: each fold is evaluated with the candidate that the other folds choose. (The
 * models of the other folds have seen this one; what chose the candidate has not.) With a single fold, there are no
 * other folds to choose by.
 */
export function nestedChoices(folds: readonly JudgedFold[], choose: Chooser = simplest): number[] {
  if (folds.length === 1) return [choose(folds)];
  return folds.map((_, held) => choose(folds.filter((_, i) => i !== held)));
}

/** Chooses a candidate by some folds. */
type Chooser = (folds: readonly JudgedFold[]) => number;
const simplest: Chooser = (folds) => chooseCandidate(folds).chosen;

/** The best fine-tuned candidate, regardless of the probe; the first one of equals. */
export const bestTuned: Chooser = (folds) => {
  const { scores } = chooseCandidate(folds);
  return scores.reduce((best, { mean }, i) => (i > 0 && (best === 0 || mean > scores[best].mean) ? i : best), 0);
};

/**
 * The estimate as an assessment. With several trials the accuracy of a domain is their mean. Its interval is for one more training of this kind: it
 * includes the spread over seeds and splits, and the sampling error of the pictures. All other values come from the first trial.
 */
export function nestedEstimate(
  folds: readonly JudgedFold[],
  {
    classes,
    step,
    trials = 1,
    choose,
  }: { classes: readonly string[]; step: number; trials?: number; choose?: Chooser },
): Assessment {
  const choices = nestedChoices(folds, choose);
  const judged = folds.flatMap(({ candidates }, i) => candidates[choices[i]]);
  const heldOut = folds.flatMap(({ domains }) => domains);
  if (trials === 1) return assessmentOf(judged, { model: "current", step, classes, heldOut });
  const byTrial = trialsOf(judged, trials);
  const first = assessmentOf(byTrial[0], { model: "current", step, classes, heldOut });
  const domains = first.domains.map((domain) => {
    const accuracies = byTrial.map((own) => accuracyIn(own, domain.name));
    return { ...domain, ...overTrials(accuracies, domain) };
  });
  return { ...first, domains, trials };
}

/** Groups judgements by trial: the n-th judgement of each picture belongs to the n-th trial. A candidate without a seed has only one, which counts for all trials. */
function trialsOf(judged: readonly Judged[], trials: number): Judged[][] {
  const all = groupBy(judged, ({ name }) => name);
  return Array.from({ length: trials }, (_, t) => [...all.values()].map((own) => own[Math.min(t, own.length - 1)]));
}

const accuracyIn = (judged: readonly Judged[], name: string): number => {
  const own = judged.filter(({ domain }) => domain === name);
  return own.filter(isRight).length / own.length;
};

/** The mean over trials, and a prediction interval for one more training. */
function overTrials(accuracies: readonly number[], { accuracy, interval: [from, to] }: Share) {
  const count = accuracies.length;
  const mean = accuracies.reduce((sum, each) => sum + each, 0) / count;
  const variance = accuracies.reduce((sum, each) => sum + (each - mean) ** 2, 0) / (count - 1);
  const spread = criticalT(0.95, count - 1) * Math.sqrt(variance * (1 + 1 / count));
  const low = mean - Math.hypot(accuracy - from, spread);
  const high = mean + Math.hypot(to - accuracy, spread);
  return { accuracy: mean, interval: [Math.max(0, low), Math.min(1, high)] as const };
}

/** The part for `recipe.json`. */
export const recipeConfidence = ({
  temperature,
  fitted,
  errorAtOne,
  errorAtFitted,
}: HeldOutConfidence): RecipeConfidence => ({
  ...{ temperature, fitted, errorAtOne, errorAtFitted },
});

/**
 * The confidence of the chosen candidate on held-out domains, and the folds judged again with the temperature that was
 * chosen without them. Null for folds of earlier versions, which have no logits.
 */
export function confidenceOf(
  folds: readonly JudgedFold[],
  chosen: number,
  byDomains: boolean,
): { confidence: HeldOutConfidence; folds: JudgedFold[] } | null {
  if (folds.some(({ candidates }) => candidates.some((own) => own.some((each) => each.logits === undefined))))
    return null;
  const confidence = heldOutConfidence(
    folds.map(({ candidates }) => candidates[chosen] as JudgedLogits[]),
    byDomains,
  );
  const again = folds.map((fold, i) => ({
    ...fold,
    candidates: fold.candidates.map((own) =>
      own.map((each) => ({ ...each, ...judge(each.logits!, each, confidence.nested[i]) })),
    ),
  }));
  return { confidence, folds: again };
}

const percent = (value: number): string => `${(100 * value).toFixed(1)} %`;

/** The reason for the choice, as text. `skipped` is why nothing was fine-tuned. */
export function reasonFor(rows: readonly CandidateRow[], by: Recipe["by"], skipped?: string): string {
  const on = by === "validation" ? "validation pictures" : "held-out domains";
  if (rows.length === 1)
    return `${rows[0].name}: no other candidate was trained${skipped === undefined ? "" : `, because ${skipped}`}.`;
  const chosen = rows.find((row) => row.chosen)!;
  const best = rows.reduce((a, b) => (b.mean > a.mean ? b : a));
  if (chosen === best) {
    const simpler = rows[rows.indexOf(best) - 1];
    return simpler
      ? `${best.name}: the best on ${on} (${percent(best.mean)}), and more than one standard error above every simpler candidate (${simpler.name}: ${percent(simpler.mean)}).`
      : `${best.name}: the best on ${on} (${percent(best.mean)}) and the simplest.`;
  }
  return `${chosen.name}: ${percent(chosen.mean)} on ${on}, within one standard error (${(100 * chosen.error).toFixed(1)} points) of the best (${best.name}, ${percent(best.mean)}), and simpler.`;
}
