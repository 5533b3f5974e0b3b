/**
 * Student's t distribution with an integer number of degrees of freedom, computed with finite sums: Abramowitz and
 * Stegun, Handbook of Mathematical Functions, 1964, 26.7.3 and 26.7.4.
 */

/** Returns the probability that |T| is at most `t`, for `df` degrees of freedom. */
export function withinT(t: number, df: number): number {
  return withinAngle(Math.atan(Math.abs(t) / Math.sqrt(df)), df);
}

/** Returns the `t` such that |T| ≤ t with this probability: 4.303 for 0.95 and 2 degrees of freedom. */
export function criticalT(probability: number, df: number): number {
  let [low, high] = [0, Math.PI / 2];
  for (let i = 0; i < 100; i++) {
    const middle = (low + high) / 2;
    if (withinAngle(middle, df) < probability) low = middle;
    else high = middle;
  }
  return Math.sqrt(df) * Math.tan(low);
}

function withinAngle(angle: number, df: number): number {
  const [sine, cosine] = [Math.sin(angle), Math.cos(angle)];
  const odd = df % 2 === 1;
  let term = odd ? cosine : 1;
  let total = df === 1 ? 0 : term;
  for (let k = odd ? 3 : 2; k < df; k += 2) {
    term *= ((k - 1) / k) * cosine * cosine;
    total += term;
  }
  return odd ? (2 / Math.PI) * (angle + sine * total) : sine * total;
}
