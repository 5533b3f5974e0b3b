/**
 * Sorts names by Unicode code point, as Python does, so that domains, classes and pictures have the same order as in
 * the reference testbed. JavaScript sorts by UTF-16 code unit, which differs for emoji and rare letters, and the order
 * of a locale differs between machines.
 */

/** Surrogates encode the highest code points, so they are moved above U+E000 to U+FFFF. */
const rank = (unit: number): number => (unit < 0xd800 ? unit : unit < 0xe000 ? unit + 0x2000 : unit - 0x800);

/** Compares two strings by code point, for `sort`. */
export function byCodePoint(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const left = a.charCodeAt(i);
    const right = b.charCodeAt(i);
    if (left !== right) return rank(left) - rank(right);
  }
  return a.length - b.length;
}
