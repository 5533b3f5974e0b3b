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

/** A judged picture, and the share of held-back training pictures that lie nearer to the training domains than it. */
export interface PlacedPicture extends Judged {
  readonly fartherThan: number | null;
}

/** A domain's accuracy, and how strange it is to the model. */
export interface DomainEvaluation extends Share {
  readonly domain: string;
  readonly calibrationError: number;
  /**
   * The share of held-back training pictures that its middle picture lies farther from training than: about a half for a
   * domain like those, towards 1 for a strange one. Null without a score of distance.
   */
  readonly fartherThan: number | null;
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
      const far = own.flatMap(({ fartherThan }) => fartherThan ?? []);
      return { ...share, calibrationError: calibration(own, { bins }).ece, fartherThan: median(far) };
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
