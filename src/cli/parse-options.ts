/** Parsers of command-line values. Each returns the value, or throws a `UsageError` that names the option. */
import { UsageError } from "../errors.js";
import { type Kind, number, whole, word } from "../options.js";

/** A port of this machine; 0 selects any free port. */
export const portNumber =
  (option: string) =>
  (text: string): number => {
    const value = wholeNumber(option)(text);
    if (value > 65535) throw new UsageError(`${option}: expected a port from 0 to 65535, got "${text}"`);
    return value;
  };

/** A share of pictures, at least 0 and below 1. */
export const shareOfPictures =
  (option: string) =>
  (text: string): number => {
    const value = Number(text);
    if (text.trim() !== "" && value >= 0 && value < 1) return value;
    throw new UsageError(`${option}: expected a fraction of at least 0 and below 1, such as 0.02, got "${text}"`);
  };

/** A parser with the names that it accepts, for shell completion. */
export type Reader<T> = ((text: string) => T) & { readonly known: readonly string[] };

/** The parser of an option of this kind. */
export const reads = <T>(option: string, kind: Kind<T>): Reader<T> =>
  Object.assign((text: string) => kind.read(option, text), { known: kind.known ?? [] });

/** An integer of at least `least`. */
export const wholeNumber = (option: string, least = 0): Reader<number> => reads(option, whole(least));

/** A number in a range. */
export const realNumber = (option: string, range: Parameters<typeof number>[0] = {}): Reader<number> =>
  reads(option, number(range));

/** One of a list of names. */
export const oneOf = <T extends string>(what: string, known: readonly T[]): Reader<T> => reads(what, word(...known));

/** Several of a list of names, separated by commas. */
export function someOf<T extends string>(what: string, known: readonly T[]): Reader<T[]> {
  const one = oneOf(what, known);
  return Object.assign((text: string) => text.split(",").map((name) => one(name.trim())), { known });
}
