/**
 * Sums, means and standard errors to the last bit as NumPy has them: a tie between two steps, or a digit in a table,
 * can hang on the order of additions. NumPy adds fewer than eight numbers in order; up to 128 in eight lanes; more by
 * halves.
 */

const LANES = 8;
const BLOCK = 128;

/** The sum as `numpy.sum` gives it. */
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

/** The arithmetic mean; NaN of nothing. */
export const mean = (values: readonly number[]): number => sum(values) / values.length;

/** The standard error DomainBed prints: the population standard deviation (divided by n) of the values over √n. */
export function standardError(values: readonly number[]): number {
  const scaled = values.map((value) => value / Math.sqrt(values.length));
  const centre = mean(scaled);
  return Math.sqrt(mean(scaled.map((value) => (value - centre) * (value - centre))));
}
