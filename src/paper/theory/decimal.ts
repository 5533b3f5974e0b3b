/**
 * Exact arithmetic on decimals as entered. ⌊64/0.4²⌋ is 400, but in binary 64/(0.4·0.4) is 399.99999999999994.
 * Dimensions and strict conditions are therefore computed with integers.
 */

import { UsageError } from "../../errors.js";

/** A fraction of integers with a positive denominator. */
export interface Rational {
  readonly numerator: bigint;
  readonly denominator: bigint;
}

const DECIMAL = /^([+-]?)(\d+)(?:\.(\d*))?(?:e([+-]?\d{1,3}))?$/i;
const BARE_FRACTION = /^([+-]?)\.(\d+)(?:e([+-]?\d{1,3}))?$/i;

/** Parses a decimal such as "0.4", ".4" or "4e-1" exactly. A number is converted to its shortest decimal. */
export function parseDecimal(value: string | number, name: string): Rational {
  const text = String(value).trim();
  const bare = BARE_FRACTION.exec(text);
  const parts = bare ? [bare[0], bare[1], "0", bare[2], bare[3]] : DECIMAL.exec(text);
  if (!parts) throw new UsageError(`${name}: expected a decimal number such as 0.4, got "${text}"`);
  const [, sign, whole, fraction = "", exponent = "0"] = parts;
  const power = Number(exponent) - fraction.length;
  const digits = BigInt(whole + fraction) * (sign === "-" ? -1n : 1n);
  return power >= 0
    ? { numerator: digits * 10n ** BigInt(power), denominator: 1n }
    : { numerator: digits, denominator: 10n ** BigInt(-power) };
}

/** Returns the sign of a − b. */
export function compare(a: Rational, b: Rational): -1 | 0 | 1 {
  const difference = a.numerator * b.denominator - b.numerator * a.denominator;
  return difference < 0n ? -1 : difference > 0n ? 1 : 0;
}

/** Returns the fraction `numerator / denominator` of two integers. */
export function rational(numerator: number | bigint, denominator: number | bigint = 1): Rational {
  return { numerator: BigInt(numerator), denominator: BigInt(denominator) };
}

/** Returns r / γ² as a fraction. */
export function overSquare(r: number, gamma: Rational): Rational {
  return { numerator: BigInt(r) * gamma.denominator ** 2n, denominator: gamma.numerator ** 2n };
}

/** Returns the smallest d with d > r/γ² + r: ⌊r/γ²⌋ + r + 1. */
export function smallestDimension(r: number, gamma: Rational): bigint {
  const { numerator, denominator } = overSquare(r, gamma);
  return numerator / denominator + BigInt(r) + 1n;
}
