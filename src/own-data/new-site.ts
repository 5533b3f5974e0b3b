/**
 * A model on pictures of a new site, without labels: how accurate it probably is there, whether the pictures differ from
 * training, and which classes and pictures are odd.
 */

import { softmax } from "../analysis/judged.js";
import { matchedTemperature, type SiteAccuracy, siteAccuracy } from "../analysis/site-accuracy.js";
import { kolmogorovSmirnov, type TwoSampleTest } from "../analysis/two-sample.js";
import { groupBy } from "../group-by.js";
import type { ModelAbout } from "../model/about.js";
import type { Prediction } from "../model/model.js";
import { type Unknown, unknownOf, unknownRule } from "../model/unknown.js";

/** A picture of the site with its prediction. */
export interface SitePicture {
  readonly name: string;
  readonly prediction: Pick<Prediction, "label" | "probability" | "logits" | "distance">;
}

export interface SiteClass {
  readonly name: string;
  /** The number of pictures for which the class is predicted, and how many of them are marked as unknown. */
  readonly count: number;
  readonly unknown: number;
  /** The share of them with a confidence above the threshold of the estimate; null without an estimate. */
  readonly sure: number | null;
  /** Whether far fewer of them are above it than of the other pictures. */
  readonly odd: boolean;
}

export interface OddPicture {
  readonly name: string;
  readonly label: string;
  readonly probability: number;
  readonly percentile: number | null;
  readonly why: Unknown;
}

export interface SiteReport {
  readonly format: 1;
  readonly pictures: number;
  /** Null if the model has no evidence from held-out domains. */
  readonly estimate: SiteAccuracy | null;
  /** The temperature at which the confidence equals the estimate, and that of the model. */
  readonly temperature: { readonly matched: number | null; readonly model: number };
  /** Whether the distances from the training domains differ from those of validation pictures; null without a distance score. */
  readonly difference: (TwoSampleTest & { readonly compared: number }) | null;
  readonly percentile: number | null;
  /** Every class, also those that are never predicted. */
  readonly classes: readonly SiteClass[];
  readonly unknown: number;
  /** Pictures that are marked as unknown, the least certain and the farthest first. */
  readonly odd: readonly OddPicture[];
}

/** The significance level of an odd class, divided among the classes. */
const ODD_LEVEL = 0.01;
const MOST_ODD = 100;

const mean = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0) / values.length;

/** Describes a site. `distances` are the scores of validation pictures, if the model has a distance score. */
export function describeSite(
  about: ModelAbout,
  pictures: readonly SitePicture[],
  distances: readonly number[] | null,
): SiteReport {
  const evidence = about.calibration?.heldOut;
  const confidences = pictures.map(({ prediction }) => Math.max(...softmax(prediction.logits)));
  const estimate = evidence ? siteAccuracy(evidence, confidences) : null;
  const threshold = evidence ? mean(evidence.thresholds) : null;
  const rule = unknownRule(about);
  const marks = pictures.map(({ prediction }) => unknownOf(prediction, rule));
  const scores = pictures.flatMap(({ prediction }) => prediction.distance?.score ?? []);
  const percentiles = pictures.flatMap(({ prediction }) => prediction.distance?.percentile ?? []).sort((a, b) => a - b);
  const places = groupBy([...pictures.keys()], (i) => pictures[i].prediction.label);
  const isSure = confidences.map((value) => threshold !== null && value > threshold);
  const classes = about.classes.map((name): SiteClass => {
    const own = places.get(name) ?? [];
    const sure = own.filter((i) => isSure[i]).length;
    const others = { count: pictures.length - own.length, sure: isSure.filter(Boolean).length - sure };
    return {
      ...{ name, count: own.length, unknown: own.filter((i) => marks[i] !== null).length },
      sure: threshold === null || own.length === 0 ? null : sure / own.length,
      odd: threshold !== null && isLower({ count: own.length, sure }, others, ODD_LEVEL / about.classes.length),
    };
  });
  const odd = pictures.flatMap(({ name, prediction: { label, probability, distance } }, i): OddPicture[] =>
    marks[i] === null ? [] : [{ name, label, probability, percentile: distance?.percentile ?? null, why: marks[i] }],
  );
  return {
    ...{ format: 1, pictures: pictures.length, estimate },
    temperature: {
      matched: estimate
        ? matchedTemperature(
            pictures.map(({ prediction }) => prediction.logits),
            estimate.accuracy,
          )
        : null,
      model: about.calibration?.temperature ?? 1,
    },
    difference:
      distances && scores.length > 0 ? { ...kolmogorovSmirnov(scores, distances), compared: distances.length } : null,
    percentile: percentiles.length > 0 ? percentiles[Math.floor(percentiles.length / 2)] : null,
    classes,
    unknown: odd.length,
    odd: odd.toSorted((a, b) => a.probability - b.probability).slice(0, MOST_ODD),
  };
}

/** Whether the share of the first is lower than that of the second, by a one-sided test of two proportions. */
function isLower(a: { count: number; sure: number }, b: { count: number; sure: number }, level: number): boolean {
  if (a.count < 5 || b.count < 5) return false;
  const share = (a.sure + b.sure) / (a.count + b.count);
  const error = Math.sqrt(share * (1 - share) * (1 / a.count + 1 / b.count));
  if (!(error > 0)) return false;
  const z = (a.sure / a.count - b.sure / b.count) / error;
  return z < 0 && Math.exp((-z * z) / 2) / (Math.sqrt(2 * Math.PI) * Math.max(1, -z)) < level; // an upper bound of the normal tail for z < −1
}
