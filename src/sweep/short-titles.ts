/** Titles of runs without the parts that all runs of a sweep share, which tell the reader nothing, such as `steps=300`. */

const PARTS = " · ";
const isSetting = (word: string): boolean => /^\S+=\S*$/.test(word);

/** The settings that are in every title. */
export function sharedSettings(titles: readonly string[]): string[] {
  if (titles.length < 2) return [];
  let shared = titles[0].split(" ").filter(isSetting);
  for (const title of titles) {
    if (shared.length === 0) return [];
    const words = new Set(title.split(" "));
    shared = shared.filter((word) => words.has(word));
  }
  return shared;
}

/** A title without these settings. */
export function shortTitle(title: string, shared: readonly string[]): string {
  if (shared.length === 0) return title;
  const left = title.split(PARTS).map((part) => part.split(" ").filter((word) => !shared.includes(word)));
  return left
    .map((words) => words.join(" "))
    .filter((part) => part !== "")
    .join(PARTS);
}

/** A line, shortened if it is too long to read. */
export const shortLine = (text: string, most = 200): string =>
  text.length <= most ? text : `${text.slice(0, most - 1)}…`;
