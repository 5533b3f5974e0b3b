/** The runs that are chosen for comparison, kept for the browser session, each with its color in every chart. */

const KEY = "nudge.compared";

/** The number of colors: two lines with the same color would be confused. */
export const MOST_COMPARED = 8;

const listeners = new Set<() => void>();

/** The index is the color: a run keeps its color when another is removed. */
const places: (string | null)[] = read();

function read(): (string | null)[] {
  try {
    const stored: unknown = JSON.parse(sessionStorage.getItem(KEY) ?? "[]");
    const list = Array.isArray(stored) ? stored : [];
    return Array.from({ length: MOST_COMPARED }, (_, i) => (typeof list[i] === "string" ? (list[i] as string) : null));
  } catch {
    return Array<string | null>(MOST_COMPARED).fill(null);
  }
}

export const compared = {
  /** The chosen runs with the indices of their colors. */
  list: (): { id: string; color: number }[] => places.flatMap((id, color) => (id === null ? [] : [{ id, color }])),

  has: (id: string): boolean => places.includes(id),

  /** Adds or removes a run. Returns false if there is no room for another. */
  toggle(id: string): boolean {
    const at = places.indexOf(id);
    const free = places.indexOf(null);
    if (at < 0 && free < 0) return false;
    if (at >= 0) places[at] = null;
    else places[free] = id;
    sessionStorage.setItem(KEY, JSON.stringify(places));
    for (const listener of listeners) listener();
    return true;
  },

  clear(): void {
    for (const { id } of compared.list()) compared.toggle(id);
  },

  subscribe(listener: () => void): () => void {
    listeners.add(listener);
    return () => listeners.delete(listener);
  },
};
