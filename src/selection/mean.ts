/**
 * Sums, means and standard errors that match NumPy to the last bit, because the order of additions can decide a tie
 * between two steps or a digit in a table. NumPy adds fewer than eight numbers in order, up to 128 numbers in eight
 * partial sums, and splits longer arrays in halves.
 */

const LANES = 8;
const BLOCK = 128;

/** Returns the same sum as `numpy.sum`. */
export function sum(values: readonly number[]): number {
  const { length } = values;
  if (length < LANES) return values.reduce((total, value) => total + value, 0);
  if (length > BLOCK) {
    const half = Math.floor(length / 2 / LANES) * LANES;
    return sum(values.slice(0, half)) + sum(values.slice(half));
  }
  const lanes = values.slice(0, LANES);
  const whole = length - (length % LANES);
  for (let i = LANES; i < whole; i++) lanes[i % LANES] += values[i];
  const [a, b, c, d, e, f, g, h] = lanes;
  const start = a + b + (c + d) + (e + f + (g + h));
  return values.slice(whole).reduce((total, value) => total + value, start);
}

/** Returns the arithmetic mean, or NaN for an empty array. */
export const mean = (values: readonly number[]): number => sum(values) / values.length;

/** Returns the standard error that DomainBed prints: the population standard deviation (divided by n) over √n. */
export function standardError(values: readonly number[]): number {
  const scaled = values.map((value) => value / Math.sqrt(values.length));
  const centre = mean(scaled);
  return Math.sqrt(mean(scaled.map((value) => (value - centre) * (value - centre))));
}
