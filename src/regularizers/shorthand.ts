/**
 * Parses the papers' names for combined methods: `ERM-NU` is ERM with the nuclear norm, and `SWAD-CORAL` is CORAL with
 * SWAD averaging. `SWAD` or `NU` alone means ERM with it. The averaging comes before the algorithm, and the
 * regularizers' titles come after it.
 */

import { closestName } from "../closest-name.js";
import { UsageError } from "../errors.js";
import { regularizers as registry } from "./index.js";

/** The ids that a method name stands for. */
export interface MethodName {
  averaging?: string;
  algorithm: string;
  regularizers: string[];
}

interface Named {
  readonly id: string;
  readonly title: string;
}

/** The algorithms, regularizers and averagings that a method name may contain. */
export interface MethodParts {
  algorithms: Iterable<Named>;
  /** The default is all regularizers in index.ts. */
  regularizers?: Iterable<Named>;
  /** The default is SWAD. */
  averagings?: Iterable<Named>;
}

const SWAD: readonly Named[] = [{ id: "swad", title: "SWAD" }];

/** Parses names such as `ERM-NU`, `swad-coral` or `GroupDRO`. Case and hyphens inside a name are ignored. */
export function parseMethodName(name: string, parts: MethodParts): MethodName {
  const algorithms = [...parts.algorithms];
  const whole = algorithms.find((each) => matchesName(each, name));
  if (whole) return { algorithm: whole.id, regularizers: [] }; // an algorithm's name may contain hyphens
  let words = name.split("-");
  const averages = [...(parts.averagings ?? SWAD)];
  const averaging = prefix(words, averages);
  if (averaging) words = words.slice(averaging.words);
  const known = [...(parts.regularizers ?? Object.values(registry))];
  const regularizers: string[] = [];
  for (let found = suffix(words, known); found; found = suffix(words, known)) {
    regularizers.unshift(found.id);
    words = words.slice(0, -found.words);
  }
  const rest = words.join("-");
  const plain = rest === "" && (averaging !== undefined || regularizers.length > 0);
  const algorithm = algorithms.find((each) => matchesName(each, plain ? "erm" : rest));
  if (!algorithm) throw new UsageError(unknownPart(name, rest, { algorithms, penalties: known, averages }));
  const method = { algorithm: algorithm.id, regularizers };
  return averaging ? { averaging: averaging.id, ...method } : method;
}

/** The error for the part of a method's name that is left: a penalty after an algorithm, an average before it, or neither. */
function unknownPart(
  name: string,
  rest: string,
  { algorithms, penalties, averages }: Readonly<Record<"algorithms" | "penalties" | "averages", readonly Named[]>>,
): string {
  const words = rest.split("-");
  const titles = (parts: readonly Named[]): string[] => parts.map(({ title }) => title);
  for (let count = words.length - 1; count > 0; count--) {
    const [start, end] = [words.slice(0, count).join("-"), words.slice(count).join("-")];
    if (algorithms.some((each) => matchesName(each, start))) return unknownIn("penalty", end, name, titles(penalties));
    if (algorithms.some((each) => matchesName(each, end))) return unknownIn("average", start, name, titles(averages));
  }
  const near = closestName(rest, [
    ...algorithms.map(({ id }) => id),
    ...titles([...algorithms, ...averages, ...penalties]),
  ]);
  const lists = Object.entries({ algorithms, penalties, averages }).map(
    ([kind, parts]) => `${kind}: ${titles(parts).join(", ")}`,
  );
  return `unknown algorithm "${rest}"${near ? `: did you mean "${near}"?` : ""} (${lists.join("; ")})`;
}

function unknownIn(kind: string, part: string, name: string, known: readonly string[]): string {
  const near = closestName(part, known);
  return `unknown ${kind} "${part}" in "${name}"${near ? `: did you mean "${near}"?` : ""} (known: ${known.join(", ")})`;
}

/** Finds the averaging whose title or id matches the first words. Longer matches come first: `WiSE-FT-NU`. */
function prefix(words: readonly string[], averagings: readonly Named[]): { id: string; words: number } | undefined {
  for (let count = words.length; count > 0; count--) {
    const start = words.slice(0, count).join("-");
    for (const each of averagings) if (matchesName(each, start)) return { id: each.id, words: count };
  }
  return undefined;
}

/**
 * Finds the regularizer whose title or id matches the last words. Longer matches come first, so
 * `…-centred-nuclear-norm` is not read as `…-nuclear-norm`.
 */
function suffix(words: readonly string[], regularizers: readonly Named[]): { id: string; words: number } | undefined {
  for (let count = words.length; count > 0; count--) {
    const tail = words.slice(-count).join("-");
    for (const each of regularizers) if (matchesName(each, tail)) return { id: each.id, words: count };
  }
  return undefined;
}

function matchesName({ id, title }: Named, name: string): boolean {
  const asked = normalizeName(name);
  return asked !== "" && (normalizeName(id) === asked || normalizeName(title) === asked);
}

/** Keeps plus signs as letters, because ERM++ is not ERM. */
const normalizeName = (name: string): string =>
  name
    .toLowerCase()
    .replaceAll("+", "plus")
    .replace(/[^a-z0-9]/g, "");
