/** Questions to the server. An answer that is no longer wanted is called off. */

/** Asks for JSON; the server's own words where it refuses. */
export async function ask<T>(path: string, query: Readonly<Record<string, string>>, signal?: AbortSignal): Promise<T> {
  const response = await fetch(`${path}?${new URLSearchParams(query)}`, { signal });
  if (!response.ok) throw new Error((await response.text()).trim());
  return (await response.json()) as T;
}

/** Whether an error only says that an answer was called off. */
export const isCalledOff = (error: unknown): boolean => error instanceof DOMException && error.name === "AbortError";
