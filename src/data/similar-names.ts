/**
 * Class names that are one name to a person: they differ in letter case, in the separator between words, or in how an accented
 * letter is stored (macOS writes `ü` as two characters). Each is a class of its own to a program, and training on that goes wrong quietly.
 */

import { listNames } from "./show-name.js";

const asRead = (name: string): string =>
  name
    .normalize("NFKC")
    .toLowerCase()
    .replace(/[\s_-]+/gu, " ")
    .trim();

/** A note for each group of names that read alike. */
export function similarNames(classes: readonly string[]): string[] {
  const groups = new Map<string, string[]>();
  for (const name of classes) groups.set(asRead(name), [...(groups.get(asRead(name)) ?? []), name]);
  return [...groups.values()]
    .filter((names) => names.length > 1)
    .map(
      (names) =>
        `${listNames(names)} are ${names.length} classes with similar names: use one name if they are the same class`,
    );
}
