/** All measures of a model on labelled pictures, as `nudge eval` prints them and writes them as JSON. */

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

/**
 * A judged picture and its distance percentile: the percentage of validation pictures that are nearer to the training
 * pictures.
 */
export interface PlacedPicture extends Judged {
  readonly percentile: number | null;
}

/** The accuracy on a domain, and how much it differs from the training domains. */
export interface DomainEvaluation extends Share {
  readonly domain: string;
  readonly calibrationError: number;
  /**
   * The distance percentile of its median picture: about 50 for a domain like the training domains, near 100 for a very
   * different one. Null if the model has no distances.
   */
  readonly percentile: number | null;
}

export interface Evaluation {
  readonly classes: readonly string[];
  readonly overall: Overall;
  readonly domains: readonly DomainEvaluation[];
  readonly byClass: readonly ClassAccuracy[];
  /** The confusion matrix: one row per true class, one column per predicted class. */
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

/** The median (the upper of two); null if there are no values. */
export function median(values: readonly number[]): number | null {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? null;
}
