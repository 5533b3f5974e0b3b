/**
 * Samples in order, a batch at a time, for evaluation, prediction, assessment and features alike: while one batch is worked on
 * the next is found, and no more than those two are in memory, however many samples there are.
 */

import type { LostPicture } from "./picture-store.js";

/** A batch of samples that were looked for. */
export interface FoundBatch<S, Found> {
  /** Those that could be had, in order, and what was found of them. */
  readonly samples: readonly S[];
  readonly found: readonly Found[];
  /** Those that could not, and why. */
  readonly lost: ReadonlyMap<S, LostPicture>;
}

interface Finder<S, Found> {
  find(sample: S): Found | LostPicture | Promise<Found | LostPicture>;
  /** Says that these will be wanted soon. */
  expect?(found: readonly Found[]): void;
  /** Resolves when other threads can finish what was begun, while this thread computes. */
  started?(): Promise<unknown>;
}

export const isLost = (outcome: unknown): outcome is LostPicture =>
  typeof outcome === "object" && outcome !== null && "problem" in outcome;

/** Finds the samples of each batch in turn. */
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
  const outcomes = await Promise.all(samples.map((sample) => finder.find(sample)));
  const found = outcomes.filter((outcome): outcome is Awaited<Found> => !isLost(outcome));
  finder.expect?.(found);
  return {
    samples: samples.filter((_, i) => !isLost(outcomes[i])),
    found,
    lost: new Map(samples.flatMap((sample, i) => (isLost(outcomes[i]) ? [[sample, outcomes[i]] as const] : []))),
  };
}

/** A promise whose rejection is seen by those that await it, and is ignored otherwise. */
export function quietly<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {});
  return promise;
}

/** Items in pieces of a size; the last may be smaller. */
export function* slices<T>(items: readonly T[], size: number): Generator<readonly T[]> {
  for (let from = 0; from < items.length; from += size) yield items.slice(from, from + size);
}
