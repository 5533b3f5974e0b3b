/** Chooses some of many items, evenly spaced and always the same. */

/** Returns at most `most` of the items, including the first. */
export function evenlyChosen<T>(items: readonly T[], most: number): readonly T[] {
  if (items.length <= most) return items;
  return Array.from({ length: most }, (_, i) => items[Math.floor((i * items.length) / most)]);
}
