/** The part of an axis that a chart shows: zooming and moving it without leaving the data. */

export interface Range {
  readonly from: number;
  readonly to: number;
}

/** A zoomed range may not be narrower than this share of the whole. */
const NARROWEST = 1e-3;

/** Makes a range `factor` times as wide about a point, which stays where it is on the screen. */
export function zoomed(range: Range, whole: Range, factor: number, about: number): Range {
  const width = range.to - range.from;
  const all = whole.to - whole.from;
  const wanted = Math.min(all, Math.max(all * NARROWEST, width * factor));
  const share = width > 0 ? (about - range.from) / width : 0.5;
  return within({ from: about - share * wanted, to: about + (1 - share) * wanted }, whole);
}

/** Moves a range by a share of its width. */
export function moved(range: Range, whole: Range, share: number): Range {
  const by = (range.to - range.from) * share;
  return within({ from: range.from + by, to: range.to + by }, whole);
}

/** Pushes a range back into the whole, without changing its width where it fits. */
export function within({ from, to }: Range, whole: Range): Range {
  const width = Math.min(to - from, whole.to - whole.from);
  const start = Math.min(Math.max(from, whole.from), whole.to - width);
  return { from: start, to: start + width };
}

/** Whether a range is (all but) the whole. */
export function isWhole(range: Range, whole: Range): boolean {
  return range.to - range.from >= (whole.to - whole.from) * (1 - 1e-9);
}
