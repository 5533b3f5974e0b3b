/**
 * The order of names: by Unicode code point, as Python sorts text and so as the reference testbed orders domains, classes
 * and pictures. JavaScript's own order is by UTF-16 unit, which puts emoji before some rarer letters; a locale's order
 * differs from machine to machine.
 */

/** Units of surrogate pairs stand for code points above all others, so they move above U+E000 to U+FFFF. */
const rank = (unit: number): number => (unit < 0xd800 ? unit : unit < 0xe000 ? unit + 0x2000 : unit - 0x800);

/** Compares two texts by code point, for `sort`. */
export function byCodePoint(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const left = a.charCodeAt(i);
    const right = b.charCodeAt(i);
    if (left !== right) return rank(left) - rank(right);
  }
  return a.length - b.length;
}
