/** Readers of command-line values: each gives the value or a `UsageError` that names the option. */
import { unknownName } from "../closest-name.js";
import { UsageError } from "../errors.js";

/** A whole number of at least `least`. */
export const wholeNumber =
  (option: string, least = 0) =>
  (text: string): number => {
    const value = Number(text);
    if (text.trim() === "" || !Number.isSafeInteger(value) || value < least)
      throw new UsageError(`${option}: expected a whole number of at least ${least}, got "${text}"`);
    return value;
  };

/** A finite number from `least` to `most`, or above `least` where that is said. */
export const realNumber =
  (option: string, { least = Number.NEGATIVE_INFINITY, most = Number.POSITIVE_INFINITY, above = false } = {}) =>
  (text: string): number => {
    const value = Number(text);
    const low = above ? value > least : value >= least;
    if (text.trim() === "" || !Number.isFinite(value) || !low || value > most) {
      const from = Number.isFinite(least) ? ` ${above ? "above" : "of at least"} ${least}` : "";
      const to = Number.isFinite(most) ? `${from ? " and" : ""} of at most ${most}` : "";
      throw new UsageError(`${option}: expected a number${from}${to}, got "${text}"`);
    }
    return value;
  };

/** A reader that has the names it takes with it, for shell completion. */
export type NameReader<T> = ((text: string) => T) & { readonly known: readonly string[] };

/** One of some names. */
export function oneOf<T extends string>(kind: string, known: readonly T[]): NameReader<T> {
  const read = (text: string): T => {
    const found = known.find((name) => name === text);
    if (found === undefined) throw new UsageError(unknownName(kind, text, known));
    return found;
  };
  return Object.assign(read, { known });
}

/** Some of some names, with commas between them. */
export function someOf<T extends string>(kind: string, known: readonly T[]): NameReader<T[]> {
  const one = oneOf(kind, known);
  return Object.assign((text: string) => text.split(",").map((name) => one(name.trim())), { known });
}
