/** Readers of command-line values: each gives the value, or a `UsageError` that names the option. */
import { UsageError } from "../errors.js";
import { type Kind, number, whole, word } from "../options.js";

/** A port of this machine; 0 is any that is free. */
export const portNumber =
  (option: string) =>
  (text: string): number => {
    const value = wholeNumber(option)(text);
    if (value > 65535) throw new UsageError(`${option}: expected a port from 0 to 65535, got "${text}"`);
    return value;
  };

/** A share of pictures, below all of them. */
export const shareOfPictures =
  (option: string) =>
  (text: string): number => {
    const value = Number(text);
    if (text.trim() !== "" && value >= 0 && value < 1) return value;
    throw new UsageError(`${option}: expected a share of pictures from 0 to below 1, such as 0.02, got "${text}"`);
  };

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
