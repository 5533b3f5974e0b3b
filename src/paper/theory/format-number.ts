/** Formats numbers, including probabilities that are too small for a double. */

import type { Accuracy } from "./theory.js";

/** Formats a number with at most five significant digits. */
export function short(value: number): string {
  if (value === 0 || Number.isInteger(value)) return String(value);
  const size = Math.abs(value);
  return size >= 1e-3 && size < 1e6 ? String(Number(value.toPrecision(5))) : value.toExponential(2);
}

/** Formats a probability from its base-ten logarithm, even if it is too small for a double. */
export function fromLog10(log10: number): string {
  if (log10 === 0) return "1";
  if (log10 === Number.NEGATIVE_INFINITY) return "0";
  if (log10 > -3) return short(10 ** log10);
  const exponent = Math.floor(log10);
  return `${(10 ** (log10 - exponent)).toFixed(2)}e${exponent}`;
}

/** Formats an accuracy for the table: exactly 1, one minus a small number, or a small number. */
export function accuracyText({ accuracy, log10Accuracy, log10Error }: Accuracy): string {
  if (accuracy === null) return "none (w = 0)";
  if (log10Error === null) return "1 exactly";
  if (log10Error < -4) return `1 − ${fromLog10(log10Error)}`;
  return log10Accuracy === null ? "0" : fromLog10(log10Accuracy);
}
