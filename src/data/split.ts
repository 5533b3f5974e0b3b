/**
 * The split of a dataset: the pictures of each domain that are `in` (used for training in training domains) and those
 * that are `out` (used for validation), index for index as in the reference testbed.
 *
 * A domain is shuffled with NumPy's generator, seeded by the trial seed and the index of the domain, so a split depends
 * neither on the seed of the run nor on its hyperparameters, and adding a domain at the end does not change the other
 * splits.
 */

import { unknownName } from "../closest-name.js";
import { UsageError } from "../errors.js";
import { shortHash } from "../files/canonical-json.js";
import { RandomState } from "../reference/mt19937.js";
import { seedHash } from "../reference/seed-hash.js";

/** The splits of one domain, as indices in the order of the domain. Their order matters, because samplers use it. */
export interface DomainSplit {
  readonly in: readonly number[];
  readonly out: readonly number[];
  /** Pictures of a test domain for methods that may use them without labels. Usually empty. */
  readonly uda: readonly number[];
}

/** The name of a split. */
export type SplitName = keyof DomainSplit;

/** The splits by domain, in the order of the dataset. */
export type Split = ReadonlyMap<string, DomainSplit>;

/** The facts of a domain that a split needs. */
export interface SplittableDomain {
  readonly name: string;
  /** The number of pictures. */
  readonly count: number;
}

export interface SplitOptions {
  /** Another trial seed gives another split. */
  trialSeed: number;
  /** The names of the held-out domains. Their `in` split is shuffled again, and may lose a `uda` part. */
  testDomains?: readonly string[];
  /** The fraction of each domain that is `out` (default: 0.2). */
  holdout?: number;
  /** The fraction of a test domain's `in` that becomes `uda` (default: 0). */
  uda?: number;
}

/** Shuffles the items with the seed; returns the first `fraction` of them, rounded down, and the rest. */
function cut(items: ArrayLike<number>, fraction: number, seed: number): [first: number[], rest: number[]] {
  const order = Array.from(new RandomState(seed).permutation(items.length), (place) => items[place]);
  const length = Math.trunc(items.length * fraction);
  return [order.slice(0, length), order.slice(length)];
}

function checkFraction(what: string, value: number): void {
  if (!(value >= 0 && value < 1))
    throw new UsageError(`split: expected ${what} to be a fraction from 0 to below 1, got ${value}`);
}

/** The reference's split of one domain with `count` pictures, with index `domain` in its dataset. */
export function splitDomain({
  count,
  domain,
  trialSeed,
  test = false,
  holdout = 0.2,
  uda = 0,
}: {
  count: number;
  domain: number;
  trialSeed: number;
  /** Whether the domain is held out. */
  test?: boolean;
  holdout?: number;
  uda?: number;
}): DomainSplit {
  checkFraction("holdout", holdout);
  checkFraction("uda", uda);
  if (!Number.isSafeInteger(count) || count < 0)
    throw new UsageError(`split: expected a number of pictures, got ${count}`);
  if (!Number.isSafeInteger(trialSeed))
    throw new UsageError(`split: expected an integer as trial seed, got ${trialSeed}`);
  const seed = seedHash(trialSeed, domain);
  const [out, remaining] = cut(
    Array.from({ length: count }, (_, i) => i),
    holdout,
    seed,
  );
  if (!test) return { in: remaining, out, uda: [] };
  const [aside, kept] = cut(remaining, uda, seed); // also if uda is 0, when it only changes the order, as in the reference
  return { in: kept, out, uda: aside };
}

/** The reference's split of a dataset. */
export function splitDataset(domains: readonly SplittableDomain[], options: SplitOptions): Split {
  const { testDomains = [], ...rest } = options;
  const names = domains.map(({ name }) => name);
  const twice = names.find((name, i) => names.indexOf(name) !== i);
  if (twice !== undefined) throw new UsageError(`split: expected domains of different names, got "${twice}" twice`);
  for (const name of testDomains)
    if (!names.includes(name)) throw new UsageError(unknownName("test domain", name, names));
  return new Map(
    domains.map(({ name, count }, domain) => [
      name,
      splitDomain({ ...rest, count, domain, test: testDomains.includes(name) }),
    ]),
  );
}

/** A split as plain data: domain → `{ in, out }`, and `uda` if it is not empty. */
export function splitToJson(
  split: Split,
): Record<string, { in: readonly number[]; out: readonly number[]; uda?: readonly number[] }> {
  return Object.fromEntries(
    Array.from(split, ([name, { in: inside, out, uda }]) => [
      name,
      { in: inside, out, ...(uda.length > 0 && { uda }) },
    ]),
  );
}

/** 16 hexadecimal digits that identify a split: the start of the SHA-256 of its canonical JSON. */
export function splitHash(split: Split): string {
  return shortHash(splitToJson(split));
}
