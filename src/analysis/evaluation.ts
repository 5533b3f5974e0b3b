/** All measures of a model on labelled pictures in one, as `nudge eval` prints them and writes them as JSON. */

import { type Abstention, abstention } from "./abstention.js";
import {
  accuracyByClass,
  accuracyByDomain,
  type ClassAccuracy,
  confusionMatrix,
  type Overall,
  overall,
  type Share,
} from "./assess.js";
import { type Calibration, calibration } from "./calibration.js";
import type { Judged } from "./judged.js";

/** A judged picture, and its distance percentile: how many of 100 held-back training pictures lie nearer to training. */
export interface PlacedPicture extends Judged {
  readonly percentile: number | null;
}

/** A domain's accuracy, and how strange it is to the model. */
export interface DomainEvaluation extends Share {
  readonly domain: string;
  readonly calibrationError: number;
  /**
   * The distance percentile of its median picture: about 50 for a domain like those of training, towards 100 for one that
   * differs. Null without a score of distance.
   */
  readonly percentile: number | null;
}

export interface Evaluation {
  readonly classes: readonly string[];
  readonly overall: Overall;
  readonly domains: readonly DomainEvaluation[];
  readonly byClass: readonly ClassAccuracy[];
  /** Counts, a row a class and a column what the model says. */
  readonly confusion: readonly (readonly number[])[];
  readonly calibration: Calibration;
  readonly abstention: Abstention;
}

/** The measures of these pictures. */
export function evaluation(
  pictures: readonly PlacedPicture[],
  classes: readonly string[],
  { bins = 15 } = {},
): Evaluation {
  return {
    classes,
    overall: overall(pictures, classes),
    domains: accuracyByDomain(pictures).map((share) => {
      const own = pictures.filter(({ domain }) => domain === share.domain);
      const far = own.flatMap(({ percentile }) => percentile ?? []);
      return { ...share, calibrationError: calibration(own, { bins }).ece, percentile: median(far) };
    }),
    byClass: accuracyByClass(pictures, classes),
    confusion: confusionMatrix(pictures, classes.length),
    calibration: calibration(pictures, { bins }),
    abstention: abstention(pictures),
  };
}

/** The middle value, the upper of two; null of none. */
export function median(values: readonly number[]): number | null {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? null;
}
