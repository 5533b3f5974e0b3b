/** Hooks for components: rendering after outside changes, and requests to the server. */

import { useEffect, useLayoutEffect, useReducer, useState } from "preact/hooks";

interface Source {
  /** Registers a callback for changes. The returned function removes it. */
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

/** Renders the component again every second, for times such as "3 s ago". */
export function useSeconds(): void {
  const again = useAgain();
  useEffect(() => {
    const timer = window.setInterval(again, 1_000);
    return () => window.clearInterval(timer);
  }, []);
}

/** Changes a value that is kept while other views are open, and renders the component again. */
export function useKept<T extends object>(kept: T): (changes: Partial<T>) => void {
  const again = useAgain();
  return (changes) => {
    Object.assign(kept, changes);
    again();
  };
}

/** Requests JSON. On failure, throws the message of the server. */
async function ask<T>(path: string, signal: AbortSignal): Promise<T> {
  const response = await fetch(path, { signal });
  if (!response.ok) throw new Error((await response.text()).trim());
  return (await response.json()) as T;
}

export interface Answer<T> {
  readonly answer?: T;
  /** The error message. */
  readonly problem?: string;
  /** Whether this is the response to an earlier request. */
  readonly isOld: boolean;
}

/**
 * The response of the server, requested again when the version changes. Until it arrives, the earlier response is
 * returned. Outdated requests are aborted.
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
