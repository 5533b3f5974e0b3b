/** The improvement figure, after the paper's Figure 3: what a penalty adds, domain by domain, each with its interval. */

import { makeAxis } from "./axis.js";
import type { PairedComparison } from "./paired.js";
import { textWidth } from "./stroke-font.js";
import { coordinate as c, paletteColor, svgDocument, text } from "./svg.js";

const ROW = 24;
const PLOT = 360;
const MARGIN = 16;

/** Draws a comparison: a point a row, its interval as a line, zero marked; rows over several domains are drawn bold. */
export function improvementChart({ first, second, rows }: PairedComparison): string {
  const drawn = rows.filter(({ mean }) => Number.isFinite(mean));
  const ends = drawn.flatMap(({ mean, interval }) => [mean, ...(interval ?? [])]).map((value) => 100 * value);
  const left = MARGIN + 12 + Math.max(...drawn.map(({ title }) => textWidth(title, 12, true)), 40);
  const axis = makeAxis([0, ...ends], left, left + PLOT, { where: `figure ${first} against ${second}` });
  const x = axis.at;
  const top = 44;
  const bottom = top + ROW * drawn.length;
  const heading = `${first} − ${second}, points of accuracy`;
  const parts = [text(MARGIN, 24, heading, { size: 14, bold: true })];
  for (const { value, label } of axis.ticks) {
    const stroke = value === 0 ? "#222222" : "#dddddd";
    parts.push(
      `<line x1="${c(x(value))}" y1="${top}" x2="${c(x(value))}" y2="${bottom}" stroke="${stroke}" stroke-width="1"/>`,
    );
    parts.push(text(x(value), bottom + 16, label, { anchor: "middle", size: 11 }));
  }
  drawn.forEach(({ title, mean, interval, domain }, i) => {
    const y = top + ROW * (i + 0.5);
    const [bold, color] = [domain === null, paletteColor(mean >= 0 ? 0 : 1)];
    parts.push(text(left - 12, y + 4, title, { anchor: "end", bold }));
    if (interval) {
      const [a, b] = interval.map((value) => c(x(100 * value)));
      parts.push(
        `<line x1="${a}" y1="${c(y)}" x2="${b}" y2="${c(y)}" stroke="${color}" stroke-width="${bold ? 3 : 2}"/>`,
      );
    }
    parts.push(`<circle cx="${c(x(100 * mean))}" cy="${c(y)}" r="${bold ? 5 : 4}" fill="${color}"/>`);
  });
  const width = Math.max(left + PLOT + 24, MARGIN * 2 + textWidth(heading, 14, true));
  return svgDocument(width, bottom + 28, `${first} against ${second}`, parts.join("\n"));
}
