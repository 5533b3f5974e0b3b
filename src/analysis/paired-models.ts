/**
 * Two models on the same pictures. Most pictures are easy or hard for both, and say nothing of which is better; those that
 * only one is right about do, so their difference is known much better than the two accuracies are.
 *
 * The interval is Wald's with half a picture added to each cell of the 2×2 table: Agresti and Min, "Simple improved confidence
 * intervals for comparing matched proportions", Statistics in Medicine 24, 2005.
 */

import { accuracyOf, type Share, Z } from "./assess.js";
import { isRight, type Judged } from "./judged.js";

/** How two models did on the same pictures. */
export interface PairedModels {
  readonly count: number;
  readonly first: Share;
  readonly second: Share;
  /** Pictures that one is right about and the other is not. */
  readonly onlyFirst: number;
  readonly onlySecond: number;
  /** The second's accuracy less the first's, and its 95 % interval. */
  readonly difference: number;
  readonly interval: readonly [from: number, to: number];
}

/** All that is compared of a judged picture. */
type Said = Pick<Judged, "name" | "label" | "predicted">;

/** Pairs pictures by name; pictures that one of the two did not predict are skipped. */
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
