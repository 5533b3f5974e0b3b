/**
 * The papers' names for combinations: `ERM-NU` is ERM with the nuclear norm, `SWAD-CORAL` CORAL under SWAD averaging, `SWAD`
 * and `NU` by themselves go with ERM. Before the algorithm stands the averaging, after it the regularizers' titles.
 */

import { unknownName } from "../closest-name.js";
import { UsageError } from "../errors.js";
import { regularizers as registry } from "./index.js";

/** What a name stands for, as ids. */
export interface MethodName {
  averaging?: string;
  algorithm: string;
  regularizers: string[];
}

interface Named {
  readonly id: string;
  readonly title: string;
}

/** The names a method may be put together from. */
export interface MethodParts {
  algorithms: Iterable<Named>;
  /** Default: those of index.ts. */
  regularizers?: Iterable<Named>;
  /** Default: SWAD. */
  averagings?: Iterable<Named>;
}

const SWAD: readonly Named[] = [{ id: "swad", title: "SWAD" }];

/** Reads `ERM-NU`, `swad-coral`, `GroupDRO`; case and the hyphens inside a name do not matter. */
export function parseMethodName(name: string, parts: MethodParts): MethodName {
  const algorithms = [...parts.algorithms];
  const whole = algorithms.find((each) => isCalled(each, name));
  if (whole) return { algorithm: whole.id, regularizers: [] }; // an algorithm's own hyphens are not ours to split
  let words = name.split("-");
  const averaging = prefix(words, [...(parts.averagings ?? SWAD)]);
  if (averaging) words = words.slice(averaging.words);
  const known = [...(parts.regularizers ?? Object.values(registry))];
  const regularizers: string[] = [];
  for (let found = suffix(words, known); found; found = suffix(words, known)) {
    regularizers.unshift(found.id);
    words = words.slice(0, -found.words);
  }
  const rest = words.join("-");
  const plain = rest === "" && (averaging !== undefined || regularizers.length > 0);
  const algorithm = algorithms.find((each) => isCalled(each, plain ? "erm" : rest));
  if (!algorithm)
    throw new UsageError(
      unknownName(
        "algorithm",
        rest,
        algorithms.map(({ id }) => id),
      ),
    );
  const method = { algorithm: algorithm.id, regularizers };
  return averaging ? { averaging: averaging.id, ...method } : method;
}

/** The average whose title or id the first words are, the longest first: `WiSE-FT-NU`. */
function prefix(words: readonly string[], averagings: readonly Named[]): { id: string; words: number } | undefined {
  for (let count = words.length; count > 0; count--) {
    const start = words.slice(0, count).join("-");
    for (const each of averagings) if (isCalled(each, start)) return { id: each.id, words: count };
  }
  return undefined;
}

/** The regularizer whose title or id the last words are, the longest first: `…-centred-nuclear-norm` is not `…-nuclear-norm`. */
function suffix(words: readonly string[], regularizers: readonly Named[]): { id: string; words: number } | undefined {
  for (let count = words.length; count > 0; count--) {
    const tail = words.slice(-count).join("-");
    for (const each of regularizers) if (isCalled(each, tail)) return { id: each.id, words: count };
  }
  return undefined;
}

function isCalled({ id, title }: Named, name: string): boolean {
  const asked = bare(name);
  return asked !== "" && (bare(id) === asked || bare(title) === asked);
}

/** ERM++ is not ERM: its signs count as letters. */
const bare = (name: string): string =>
  name
    .toLowerCase()
    .replaceAll("+", "plus")
    .replace(/[^a-z0-9]/g, "");
