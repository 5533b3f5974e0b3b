/**
 * Differences in points of accuracy, intervals and p-values as text. A number that decides something has as many decimals
 * as show on which side of the limit it is: `-0.04 … +3.8` and not `-0.0 … +3.8`.
 */

import { oneDecimal } from "./cells.js";
import { type Interval, SIGNIFICANT } from "./trial-statistics.js";

/** More decimals than this are rounding errors of sums. */
const MOST_DECIMALS = 9;

/** The number with at least so many decimals, and more if only these show on which side of the limits it is. */
function decided(value: number, decimals: number, limits: readonly number[]): string {
  const isShown = (text: string): boolean =>
    limits.every((limit) => Math.sign(Number(text) - limit) === Math.sign(value - limit));
  const shortest = decimals === 1 ? oneDecimal(value) : value.toFixed(decimals);
  if (!Number.isFinite(value)) return shortest;
  for (let more = decimals; more <= MOST_DECIMALS; more++) {
    const text = more === decimals ? shortest : value.toFixed(more);
    if (isShown(text)) return text;
  }
  return Number(shortest) === 0 ? shortest.replace("-", "") : shortest; // equal to a limit, but for rounding
}

/** A difference, given as a fraction, in points with its sign. `margin`, also a fraction, is a limit beside zero. */
export function signedPoints(value: number, { decimals = 1, margin = 0 } = {}): string {
  const text = decided(100 * value, decimals, [0, -100 * margin, 100 * margin]);
  return Number(text) > 0 ? `+${text}` : text;
}

/** `-0.3 … +1.2`, in points; a dash if there is none. */
export const intervalPoints = (interval: Interval | null, options: Parameters<typeof signedPoints>[1] = {}): string =>
  interval ? interval.map((value) => signedPoints(value, options)).join(" … ") : "–";

/** A p-value as text: `0.034`, `<0.001`, and `0.0498` because 0.050 would not be significant. */
export const pText = (p: number | null): string =>
  p === null ? "–" : p < 0.001 ? "<0.001" : decided(p, 3, [SIGNIFICANT]);
