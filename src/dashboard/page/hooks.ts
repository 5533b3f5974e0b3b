/** What components share: to be rendered again when something outside of them changes, and answers of the server. */

import { useEffect, useLayoutEffect, useReducer, useState } from "preact/hooks";

interface Source {
  /** Calls back after changes, until the function returned is called. */
  subscribe(listener: () => void): () => void;
}

/** A function that renders the component again. */
export function useAgain(): () => void {
  const [, again] = useReducer<number, void>((count) => count + 1, 0);
  return again as () => void;
}

/** Renders the component again when one of these changes. */
export function useChanges(...sources: Source[]): void {
  const again = useAgain();
  useLayoutEffect(() => {
    const ends = sources.map((source) => source.subscribe(again));
    return () => ends.forEach((end) => void end());
  }, []);
}

/** Renders the component again every second: times go by. */
export function useSeconds(): void {
  const again = useAgain();
  useEffect(() => {
    const timer = window.setInterval(again, 1_000);
    return () => window.clearInterval(timer);
  }, []);
}

/** Changes what is kept while other views are open, and renders the component again. */
export function useKept<T extends object>(kept: T): (changes: Partial<T>) => void {
  const again = useAgain();
  return (changes) => {
    Object.assign(kept, changes);
    again();
  };
}

/** Asks for JSON; the server's own words where it refuses. */
async function ask<T>(path: string, signal: AbortSignal): Promise<T> {
  const response = await fetch(path, { signal });
  if (!response.ok) throw new Error((await response.text()).trim());
  return (await response.json()) as T;
}

export interface Answer<T> {
  readonly answer?: T;
  /** What went wrong, in words. */
  readonly problem?: string;
  /** Whether this answers an earlier question. */
  readonly isOld: boolean;
}

/**
 * What the server answers, asked again when the version changes; until the answer comes, what it answered before. An answer
 * that is no longer wanted is called off.
 */
export function useAnswer<T>(path: string, query: Readonly<Record<string, string>>, version: unknown): Answer<T> {
  const address = `${path}?${new URLSearchParams(query)}`;
  const [known, setKnown] = useState<{ address?: string; answer?: T; problem?: string }>({});
  useEffect(() => {
    const asking = new AbortController();
    ask<T>(address, asking.signal).then(
      (answer) => setKnown({ address, answer }),
      (error: Error) => asking.signal.aborted || setKnown({ address, problem: error.message }),
    );
    return () => asking.abort();
  }, [address, version]);
  return { ...known, isOld: known.address !== address };
}
