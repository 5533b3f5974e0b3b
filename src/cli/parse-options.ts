/** Readers of command-line values: each gives the value, or a `UsageError` that names the option. */
import { type Kind, number, whole, word } from "../options.js";

/** A reader that has the names it takes with it, for shell completion. */
export type Reader<T> = ((text: string) => T) & { readonly known: readonly string[] };

/** The reader of an option of this kind. */
export const reads = <T>(option: string, kind: Kind<T>): Reader<T> =>
  Object.assign((text: string) => kind.read(option, text), { known: kind.known ?? [] });

/** A whole number of at least `least`. */
export const wholeNumber = (option: string, least = 0): Reader<number> => reads(option, whole(least));

/** A number in a range. */
export const realNumber = (option: string, range: Parameters<typeof number>[0] = {}): Reader<number> =>
  reads(option, number(range));

/** One of some names. */
export const oneOf = <T extends string>(what: string, known: readonly T[]): Reader<T> => reads(what, word(...known));

/** Some of some names, with commas between them. */
export function someOf<T extends string>(what: string, known: readonly T[]): Reader<T[]> {
  const one = oneOf(what, known);
  return Object.assign((text: string) => text.split(",").map((name) => one(name.trim())), { known });
}
