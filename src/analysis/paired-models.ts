/**
 * Compares two models on the same pictures. Most pictures are easy or hard for both models. The pictures that only one
 * model classifies correctly determine the difference, so it is known more precisely than the two accuracies.
 *
 * The interval is Wald's with half a picture added to each cell of the 2×2 table: Agresti and Min, "Simple improved
 * confidence intervals for comparing matched proportions", Statistics in Medicine 24, 2005.
 */

import { accuracyOf, type Share, Z } from "./assess.js";
import { isRight, type Judged } from "./judged.js";

/** The comparison of two models on the same pictures. */
export interface PairedModels {
  readonly count: number;
  readonly first: Share;
  readonly second: Share;
  /** The number of pictures that only one of them classifies correctly. */
  readonly onlyFirst: number;
  readonly onlySecond: number;
  /** The accuracy of the second minus that of the first, and its 95 % interval. */
  readonly difference: number;
  readonly interval: readonly [from: number, to: number];
}

/** The fields of a judged picture that are compared. */
type Said = Pick<Judged, "name" | "label" | "predicted">;

/** Pairs pictures by name. Pictures that only one model predicted are skipped. */
export function pairedModels(first: readonly Said[], second: readonly Said[]): PairedModels {
  const others = new Map(second.map((picture) => [picture.name, picture]));
  const pairs = first.flatMap((one) => {
    const other = others.get(one.name);
    return other ? [{ one, other }] : [];
  });
  const count = pairs.length;
  const onlyFirst = pairs.filter(({ one, other }) => isRight(one) && !isRight(other)).length;
  const onlySecond = pairs.filter(({ one, other }) => !isRight(one) && isRight(other)).length;
  const [b, c, n] = [onlyFirst + 0.5, onlySecond + 0.5, count + 2];
  const middle = (c - b) / n;
  const half = (Z * Math.sqrt(b + c - (c - b) ** 2 / n)) / n;
  return {
    count,
    first: accuracyOf(pairs.map(({ one }) => one)),
    second: accuracyOf(pairs.map(({ other }) => other)),
    ...{ onlyFirst, onlySecond },
    difference: (onlySecond - onlyFirst) / count,
    interval: [Math.max(-1, middle - half), Math.min(1, middle + half)],
  };
}
