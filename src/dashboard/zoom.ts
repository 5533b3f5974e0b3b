/** The visible range of an axis: zooming and moving it within the data. */

export interface Range {
  readonly from: number;
  readonly to: number;
}

/** The minimum width of a zoomed range as a fraction of the whole. */
const NARROWEST = 1e-3;

/** Scales a range by `factor` about a fixed point. */
export function zoomed(range: Range, whole: Range, factor: number, about: number): Range {
  const width = range.to - range.from;
  const all = whole.to - whole.from;
  const wanted = Math.min(all, Math.max(all * NARROWEST, width * factor));
  const share = width > 0 ? (about - range.from) / width : 0.5;
  return within({ from: about - share * wanted, to: about + (1 - share) * wanted }, whole);
}

/** Moves a range by a fraction of its width. */
export function moved(range: Range, whole: Range, share: number): Range {
  const by = (range.to - range.from) * share;
  return within({ from: range.from + by, to: range.to + by }, whole);
}

/** Moves a range into the whole, keeping its width if it fits. */
export function within({ from, to }: Range, whole: Range): Range {
  const width = Math.min(to - from, whole.to - whole.from);
  const start = Math.min(Math.max(from, whole.from), whole.to - width);
  return { from: start, to: start + width };
}

/** Whether a range is (almost) the whole. */
export function isWhole(range: Range, whole: Range): boolean {
  return range.to - range.from >= (whole.to - whole.from) * (1 - 1e-9);
}
