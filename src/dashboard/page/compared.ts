/** The runs chosen for comparison, kept for the browser's session, each with the colour it has in every chart. */

const KEY = "nudge.compared";

/** As many as there are colours: two lines of one colour would be read as one run. */
export const MOST_COMPARED = 8;

const listeners = new Set<() => void>();

/** Places are colours: a run keeps its own when another is taken out. */
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
  /** The chosen runs with the numbers of their colours. */
  list: (): { id: string; color: number }[] => places.flatMap((id, color) => (id === null ? [] : [{ id, color }])),

  has: (id: string): boolean => places.includes(id),

  /** Takes a run in or out; false where there is no room for another. */
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
