/**
 * Finds class names that look the same to a person: they differ in case, in the separator between words, or in the
 * encoding of accented letters (macOS stores `ü` as two characters). For a program they are different classes, so
 * training would silently go wrong.
 */

import { groupBy } from "../group-by.js";
import { listNames } from "./show-name.js";

const asRead = (name: string): string =>
  name
    .normalize("NFKC")
    .toLowerCase()
    .replace(/[\s_-]+/gu, " ")
    .trim();

/** A note for each group of similar names. */
export function similarNames(classes: readonly string[]): string[] {
  return [...groupBy(classes, asRead).values()]
    .filter((names) => names.length > 1)
    .map(
      (names) =>
        `${listNames(names)} are ${names.length} classes with similar names: use one name if they are the same class`,
    );
}
