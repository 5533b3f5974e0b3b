/**
 * Measures of a model on labelled pictures: accuracy by domain and by class, the confusion matrix, and the worst
 * mistakes. These are pure functions of judged pictures (judged.ts); see also calibration.ts and abstention.ts.
 */

import { isRight, type Judged } from "./judged.js";

/** A proportion with its 95 % Wilson score interval, which is also valid for few pictures and near 0 and 1. */
export interface Share {
  readonly count: number;
  readonly right: number;
  /** A fraction; NaN if there are no pictures. */
  readonly accuracy: number;
  readonly interval: readonly [from: number, to: number];
}

/** The normal quantile of a two-sided 95 % interval. */
export const Z = 1.959963984540054;

/** `right` of `count`. */
export function shareOf(right: number, count: number): Share {
  if (count === 0) return { count, right, accuracy: Number.NaN, interval: [0, 1] };
  const p = right / count;
  const middle = p + Z ** 2 / (2 * count);
  const half = Z * Math.sqrt((p * (1 - p)) / count + (Z / (2 * count)) ** 2);
  const scale = 1 + Z ** 2 / count;
  return {
    count,
    right,
    accuracy: p,
    interval: [Math.max(0, (middle - half) / scale), Math.min(1, (middle + half) / scale)],
  };
}

/** The accuracy of the model. */
export const accuracyOf = (pictures: readonly Pick<Judged, "label" | "predicted">[]): Share =>
  shareOf(
    pictures.reduce((sum, picture) => sum + Number(isRight(picture)), 0),
    pictures.length,
  );

const mean = (pictures: readonly Judged[], value: (picture: Judged) => number): number =>
  pictures.reduce((sum, picture) => sum + value(picture), 0) / pictures.length;

/** Accuracy, mean cross-entropy and mean Brier score of all pictures. */
export interface Overall extends Share {
  readonly loss: number;
  readonly brier: number;
  /** The mean recall over classes that have pictures, so that rare classes count as much as common ones. */
  readonly balancedAccuracy: number;
}

/** The measures of all pictures together. */
export function overall(pictures: readonly Judged[], classes: readonly string[]): Overall {
  const present = accuracyByClass(pictures, classes).filter(({ count }) => count > 0);
  return {
    ...accuracyOf(pictures),
    loss: mean(pictures, ({ loss }) => loss),
    brier: mean(pictures, ({ brier }) => brier),
    balancedAccuracy: present.reduce((sum, { accuracy }) => sum + accuracy, 0) / present.length,
  };
}

/** The accuracy on each domain, in the order of their first appearance. */
export function accuracyByDomain(pictures: readonly Judged[]): (Share & { readonly domain: string })[] {
  const domains = [...new Set(pictures.map(({ domain }) => domain))];
  return domains.map((domain) => ({ domain, ...accuracyOf(pictures.filter((each) => each.domain === domain)) }));
}

/** The measures of one class. */
export interface ClassAccuracy extends Share {
  readonly name: string;
  /** The number of pictures that were predicted as this class. */
  readonly said: number;
  /** The precision; NaN if the class was never predicted. */
  readonly precision: number;
}

/** The recall and the precision of each class. */
export function accuracyByClass(pictures: readonly Judged[], classes: readonly string[]): ClassAccuracy[] {
  const counts = confusionMatrix(pictures, classes.length);
  return classes.map((name, i) => {
    const said = counts.reduce((sum, row) => sum + row[i], 0);
    const count = counts[i].reduce((sum, each) => sum + each, 0);
    return { name, ...shareOf(counts[i][i], count), said, precision: counts[i][i] / said };
  });
}

/** Counts: `matrix[label][predicted]`. */
export function confusionMatrix(pictures: readonly Judged[], classes: number): number[][] {
  const matrix = Array.from({ length: classes }, () => new Array<number>(classes).fill(0));
  for (const { label, predicted } of pictures) matrix[label][predicted]++;
  return matrix;
}

/** Two classes that are taken for one another. */
export interface Confusion {
  readonly label: number;
  readonly predicted: number;
  readonly count: number;
}

/** The most frequent mistakes, first of equals the first class. */
export function mostConfused(matrix: readonly (readonly number[])[], most = 10): Confusion[] {
  const mistakes = matrix.flatMap((row, label) =>
    row.flatMap((count, predicted) => (label === predicted || count === 0 ? [] : [{ label, predicted, count }])),
  );
  return mistakes.sort((a, b) => b.count - a.count).slice(0, most);
}

/** The pictures it was wrong about, those first to whose true class it gave least. */
export function mostWrong<P extends Judged>(pictures: readonly P[], most = 24): P[] {
  return pictures
    .filter((picture) => !isRight(picture))
    .sort((a, b) => b.loss - a.loss || (a.name < b.name ? -1 : 1))
    .slice(0, most);
}
