/**
 * Numbers as Python writes them. The reference's seeds and folder names are hashes of such text, so every character
 * matters.
 */
import { UsageError } from "../errors.js";

/**
 * A number that is a float in Python even if it is an integer: `new PythonFloat(1)` is written `1.0`.
 *
 * A plain JavaScript number is written as an int if it is an integer, and otherwise as a float.
 */
export class PythonFloat {
  constructor(readonly value: number) {}
}

/** `repr` of a finite float: the shortest digits that round-trip, with an exponent below 1e-4 and from 1e16. */
export function floatText(value: number): string {
  if (!Number.isFinite(value))
    throw new UsageError(`a float as Python writes it: expected a finite number, got ${value}`);
  const sign = value < 0 || Object.is(value, -0) ? "-" : "";
  const [mantissa, power = "0"] = Math.abs(value).toExponential().split("e"); // shortest digits too
  const exponent = Number(power);
  if (exponent < -4 || exponent >= 16) {
    const size = String(Math.abs(exponent)).padStart(2, "0");
    return `${sign}${mantissa}e${exponent < 0 ? "-" : "+"}${size}`;
  }
  const digits = mantissa.replace(".", "");
  if (exponent < 0) return `${sign}0.${"0".repeat(-exponent - 1)}${digits}`;
  const whole = digits.slice(0, exponent + 1).padEnd(exponent + 1, "0");
  return `${sign}${whole}.${digits.slice(exponent + 1) || "0"}`;
}

/** A number as Python writes it. An integer is written as an int, and only if a double represents it exactly. */
export function numberText(value: number | bigint | PythonFloat): string {
  if (value instanceof PythonFloat) return floatText(value.value);
  if (typeof value === "bigint") return String(value);
  if (!Number.isInteger(value)) return floatText(value);
  if (!Number.isSafeInteger(value))
    throw new UsageError(
      `a number as Python writes it: ${value} is too large to be an exact int; give a bigint, or a PythonFloat if it is a float`,
    );
  return String(value); // -0 is the int 0
}
