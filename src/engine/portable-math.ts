/**
 * The natural logarithm and the exponential function, using only additions, multiplications and divisions.
 *
 * IEEE 754 defines those operations to the last bit, but not `Math.log` and `Math.exp`, whose last digits depend on the
 * JavaScript engine and its version. Random draws use these functions, so that a seed gives the same numbers on every
 * machine. Both have errors within 2 units in the last place.
 */

// ln 2 in two parts. The first ends in 21 zero bits, so that its product with an integer below 2^21 is exact.
const ln2High = 0.6931471803691238;
const ln2Low = 1.9082149292705877e-10;

const view = new DataView(new ArrayBuffer(8));

/** Returns 2 to an integer power between -1022 and 1023, constructed from its bits. */
function powerOfTwo(exponent: number): number {
  view.setUint32(0, (exponent + 1023) << 20);
  view.setUint32(4, 0);
  return view.getFloat64(0);
}

/** Returns the natural logarithm: x = 2^k·m with m in [√½, √2), then ln m = 2 artanh((m − 1)/(m + 1)) as a series. */
export function portableLog(x: number): number {
  if (!(x > 0) || x === Number.POSITIVE_INFINITY) return x === 0 ? Number.NEGATIVE_INFINITY : x > 0 ? x : Number.NaN;
  let k = 0;
  if (x < 2.2250738585072014e-308) {
    x *= 18014398509481984; // 2^54: a subnormal number has no exponent to read
    k = -54;
  }
  view.setFloat64(0, x);
  const high = view.getUint32(0);
  k += (high >>> 20) - 1023;
  view.setUint32(0, (high & 0xfffff) | 0x3ff00000);
  let m = view.getFloat64(0);
  if (m > Math.SQRT2) {
    m /= 2;
    k += 1;
  }
  const s = (m - 1) / (m + 1);
  const z = s * s; // at most 0.0295, so the term in z^11 is below 2^-56
  let series = 0;
  for (let odd = 23; odd >= 3; odd -= 2) series = z * (series + 1 / odd);
  return k * ln2High + (k * ln2Low + 2 * s * series + 2 * s);
}

/** Returns e to the power x: x = k·ln 2 + r with |r| ≤ ½ ln 2, then a Taylor series. */
export function portableExp(x: number): number {
  if (Number.isNaN(x)) return x;
  if (x > 709.782712893384) return Number.POSITIVE_INFINITY;
  if (x < -745.1332191019412) return 0;
  const k = Math.round(x / (ln2High + ln2Low));
  const r = x - k * ln2High - k * ln2Low;
  let series = 1;
  for (let n = 15; n >= 1; n--) series = 1 + (r / n) * series;
  // Multiply in two steps, because 2^k alone may overflow or be subnormal even if the product is not.
  const half = Math.trunc(k / 2);
  return series * powerOfTwo(half) * powerOfTwo(k - half);
}
