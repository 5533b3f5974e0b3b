/** Readers of setting values, which come as text from the command line or as typed values from a YAML file. */

import { unknownName } from "../closest-name.js";
import { UsageError } from "../errors.js";
import type { HparamValue } from "../hparams.js";

/** Reads a value under a name; one that does not fit is a UsageError that says what was expected. */
export type Read<T> = (name: string, value: unknown) => T;

const wrong = (name: string, expected: string, value: unknown): UsageError =>
  new UsageError(`${name}: expected ${expected}, got ${JSON.stringify(value) ?? String(value)}`);

const toNumber = (value: unknown): unknown =>
  typeof value === "string" && value.trim() !== "" ? Number(value) : value;

/** A word or a path. YAML reads `28` and `true` as what they look like; here they are text again. */
export const text: Read<string> = (name, value) => {
  const read = typeof value === "number" || typeof value === "boolean" ? String(value) : value;
  if (typeof read !== "string" || read === "") throw wrong(name, "text", value);
  return read;
};

/** Names with commas between them, or a list of names. */
export const list: Read<string[]> = (name, value) => {
  const items = typeof value === "string" ? value.split(",").map((item) => item.trim()) : value;
  if (!Array.isArray(items)) throw wrong(name, "a name, or names with commas between them", value);
  return items.filter((item) => item !== "").map((item) => text(name, item));
};

export const number: Read<number> = (name, value) => {
  const read = toNumber(value);
  if (typeof read !== "number" || !Number.isFinite(read)) throw wrong(name, "a number", value);
  return read;
};

/** A whole number of at least `least`. */
export const whole =
  (least: number): Read<number> =>
  (name, value) => {
    const read = toNumber(value);
    if (!Number.isSafeInteger(read) || (read as number) < least)
      throw wrong(name, `a whole number from ${least}`, value);
    return read as number;
  };

export const boolean: Read<boolean> = (name, value) => {
  if (value === true || value === "true") return true;
  if (value === false || value === "false") return false;
  throw wrong(name, "true or false", value);
};

/** One of some words. */
export const word =
  <T extends string>(...known: readonly T[]): Read<T> =>
  (name, value) => {
    const found = known.find((each) => each === value);
    if (found === undefined) throw new UsageError(unknownName(name, String(value), known));
    return found;
  };

/** A value of the kind that another one is; empty text only where the other is empty too, and so says "none". */
export function alike<T extends HparamValue>(name: string, value: unknown, like: T): T {
  if (like === "" && value === "") return like;
  const read: Read<HparamValue> = typeof like === "number" ? number : typeof like === "boolean" ? boolean : text;
  return read(name, value) as T;
}
