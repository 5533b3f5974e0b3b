/** Some of many, evenly from all of their order: the same ones every time. */

/** At most `most` of the items, the first among them. */
export function evenlyChosen<T>(items: readonly T[], most: number): readonly T[] {
  if (items.length <= most) return items;
  return Array.from({ length: most }, (_, i) => items[Math.floor((i * items.length) / most)]);
}
