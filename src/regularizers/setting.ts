/** Settings of a regularizer: choices that are not searched, each with a default, what it accepts and what it means. */

import { unknownName } from "../closest-name.js";
import { UsageError } from "../errors.js";

export type SettingValue = string | number;

export interface Setting<T extends SettingValue = SettingValue> {
  readonly default: T;
  /** One sentence for help and lists. */
  readonly meaning: string;
  /** In print: `per-sample | sum`. */
  readonly accepts: string;
  /** The value, from code or as the command line's text; a UsageError that says what is accepted. */
  read(value: unknown, name: string): T;
}

/** One of some words. */
export function oneOf<const T extends string>(values: readonly T[], fallback: NoInfer<T>, meaning: string): Setting<T> {
  return {
    default: fallback,
    meaning,
    accepts: values.join(" | "),
    read: (value, name) => {
      const found = values.find((known) => known === value);
      if (found === undefined) throw new UsageError(unknownName(name, String(value), values));
      return found;
    },
  };
}

/** A whole number from 0. */
export function count(fallback: number, meaning: string): Setting<number> {
  return {
    default: fallback,
    meaning,
    accepts: "a whole number from 0",
    read: (value, name) => {
      const number = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
      if (typeof number !== "number" || !Number.isSafeInteger(number) || number < 0) {
        throw new UsageError(`${name}: expected a whole number from 0, got ${JSON.stringify(value)}`);
      }
      return number;
    },
  };
}
