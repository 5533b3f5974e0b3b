/**
 * Samples in order, one batch at a time, for evaluation, prediction, assessment and features. The next batch is loaded
 * while one is processed, and at most two are in memory.
 */

import type { Found as FoundSample, LostPicture } from "./picture-store.js";

/** A batch of samples. */
export interface FoundBatch<S, Found> {
  /** The samples that were loaded, in order, and their content. */
  readonly samples: readonly S[];
  readonly found: readonly Found[];
  /** The samples that could not be loaded, and why. */
  readonly lost: ReadonlyMap<S, LostPicture>;
}

interface Finder<S, Found> {
  find(samples: readonly S[]): readonly FoundSample<Found>[];
  /** Announces samples that will be needed soon. */
  expect?(found: readonly Found[]): void;
  /** Resolves when other threads can finish the work without this thread. */
  started?(): Promise<unknown>;
}

export const isLost = (outcome: unknown): outcome is LostPicture =>
  typeof outcome === "object" && outcome !== null && "problem" in outcome;

/** Loads the samples of each batch in turn. */
export async function* inOrder<S, Found>(
  batches: Iterable<readonly S[]>,
  finder: Finder<S, Found>,
): AsyncGenerator<FoundBatch<S, Found>, void, undefined> {
  const waiting = batches[Symbol.iterator]();
  const begin = (): Promise<FoundBatch<S, Found>> | undefined => {
    const { value, done } = waiting.next();
    return done ? undefined : quietly(findAll(value, finder));
  };
  let next = begin();
  while (next) {
    const batch = await next;
    next = begin();
    await finder.started?.();
    yield batch;
  }
}

async function findAll<S, Found>(samples: readonly S[], finder: Finder<S, Found>): Promise<FoundBatch<S, Found>> {
  const outcomes = await Promise.all(finder.find(samples));
  const found = outcomes.filter((outcome): outcome is Awaited<Found> => !isLost(outcome));
  finder.expect?.(found);
  return {
    samples: samples.filter((_, i) => !isLost(outcomes[i])),
    found,
    lost: new Map(samples.flatMap((sample, i) => (isLost(outcomes[i]) ? [[sample, outcomes[i]] as const] : []))),
  };
}

/** Marks the rejection of a promise as handled, so that only the code that awaits it sees the error. */
export function quietly<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {});
  return promise;
}

/** Splits items into chunks; the last may be smaller. */
export function* slices<T>(items: readonly T[], size: number): Generator<readonly T[]> {
  for (let from = 0; from < items.length; from += size) yield items.slice(from, from + size);
}
