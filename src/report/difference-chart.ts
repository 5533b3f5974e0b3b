/** The drawing of differences with intervals: rows below each other, each with points and their intervals as lines, and zero marked. */

import { makeAxis } from "../drawing/axis.js";
import { textWidth } from "../drawing/stroke-font.js";
import { coordinate as c, svgDocument, text } from "../drawing/svg.js";
import type { Interval } from "../selection/trial-statistics.js";
import type { PairedDifference } from "./paired.js";

/** Pixels between two marks, and between two rows. */
const MARK = 16;
const ROW = 24;
const PLOT = 360;
const MARGIN = 16;

interface Mark extends Pick<PairedDifference, "mean" | "interval"> {
  readonly color: string;
  /** A narrower interval, drawn as a thicker line. */
  readonly inner?: Interval | null;
}

export interface DifferenceRow {
  readonly title: string;
  /** Over several domains, or the heading of the rows below it. */
  readonly bold: boolean;
  /** Below each other; none for a heading. */
  readonly marks: readonly Mark[];
}

interface Chart {
  readonly heading: string;
  readonly rows: readonly DifferenceRow[];
  /** The differences, fractions, over which the background is grey. */
  readonly band?: Interval;
  /** Lines of text below the axis. */
  readonly words?: readonly string[];
  readonly legend?: readonly { readonly label: string; readonly color: string }[];
}

/** Draws a chart of differences, in points of accuracy. */
export function drawDifferences({ heading, rows, legend = [], band, words = [] }: Chart): string {
  const ends = rows.flatMap(({ marks }) => marks.flatMap(({ mean, interval }) => [mean, ...(interval ?? [])]));
  const left = MARGIN + 12 + Math.max(...rows.map(({ title }) => textWidth(title, 12, true)), 40);
  const percents = [...ends, ...(band ?? [])].map((value) => 100 * value);
  const axis = makeAxis([0, ...percents], left, left + PLOT, { where: `figure "${heading}"` });
  const top = 44;
  const heights = rows.map(({ marks }) => ROW + MARK * Math.max(0, marks.length - 1));
  const bottom = top + heights.reduce((sum, height) => sum + height, 0);
  const parts = [text(MARGIN, 24, heading, { size: 14, bold: true })];
  if (band) {
    const [x, end] = band.map((value) => axis.at(100 * value));
    parts.push(`<rect x="${c(x)}" y="${top}" width="${c(end - x)}" height="${bottom - top}" fill="#eeeeee"/>`);
  }
  for (const { value, label } of axis.ticks) {
    const [x, stroke] = [c(axis.at(value)), value === 0 ? "#222222" : "#dddddd"];
    parts.push(`<line x1="${x}" y1="${top}" x2="${x}" y2="${bottom}" stroke="${stroke}" stroke-width="1"/>`);
    parts.push(text(axis.at(value), bottom + 16, label, { anchor: "middle", size: 11 }));
  }
  let from = top;
  rows.forEach(({ title, bold, marks }, i) => {
    if (i > 0 && marks.length > 1)
      parts.push(
        `<line x1="${MARGIN}" y1="${from}" x2="${c(left + PLOT)}" y2="${from}" stroke="#dddddd" stroke-width="1"/>`,
      );
    parts.push(text(left - 12, from + heights[i] / 2 + 4, title, { anchor: "end", bold }));
    marks.forEach((mark, j) => {
      parts.push(...drawMark(mark, from + ROW / 2 + MARK * j, { at: axis.at, bold }));
    });
    from += heights[i];
  });
  const below = bottom + 40;
  words.forEach((line, i) => {
    parts.push(text(left, below + 18 * i, line));
  });
  legend.forEach(({ label, color }, i) => {
    const y = below + 18 * (words.length + i);
    parts.push(`<circle cx="${c(left + 6)}" cy="${c(y - 4)}" r="4" fill="${color}"/>`, text(left + 18, y, label));
  });
  const lengths = [
    ...legend.map(({ label }) => 18 + textWidth(label, 12)),
    ...words.map((line) => textWidth(line, 12)),
  ];
  const widest = Math.max(...lengths.map((end) => left + end + MARGIN), 0);
  const width = Math.max(left + PLOT + 24, MARGIN * 2 + textWidth(heading, 14, true), widest);
  const lines = words.length + legend.length;
  return svgDocument(width, bottom + 28 + 18 * lines + (lines > 0 ? 4 : 0), heading, parts.join("\n"));
}

function drawMark(
  { mean, interval, inner, color }: Mark,
  y: number,
  { at, bold }: { at: (value: number) => number; bold: boolean },
): string[] {
  const point = `<circle cx="${c(at(100 * mean))}" cy="${c(y)}" r="${bold ? 5 : 4}" fill="${color}"/>`;
  if (!interval) return [point];
  const line = ([from, to]: Interval, width: number): string =>
    `<line x1="${c(at(100 * from))}" y1="${c(y)}" x2="${c(at(100 * to))}" y2="${c(y)}" stroke="${color}" stroke-width="${width}"/>`;
  return [line(interval, bold ? 3 : 2), ...(inner ? [line(inner, 5)] : []), point];
}
