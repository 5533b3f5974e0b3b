/**
 * Figures of paired differences with intervals: one comparison by domain, and, like the paper's Figure 3, the effect of
 * a penalty on several methods on each dataset.
 */

import { makeAxis } from "../drawing/axis.js";
import { textWidth } from "../drawing/stroke-font.js";
import { coordinate as c, palette, paletteColor, svgDocument, text } from "../drawing/svg.js";
import { datasetTitle } from "../settings/names.js";
import { nameIn, otherOfAll, titleOf } from "./comparison-table.js";
import type { PairedComparison, PairedDifference } from "./paired.js";

/** Pixels between two marks, and between two rows. */
const MARK = 16;
const ROW = 24;
const PLOT = 360;
const MARGIN = 16;

interface Mark extends Pick<PairedDifference, "mean" | "interval"> {
  readonly color: string;
}

interface Row {
  readonly title: string;
  /** Over several domains. */
  readonly bold: boolean;
  /** Below each other. */
  readonly marks: readonly Mark[];
}

interface Chart {
  readonly heading: string;
  readonly rows: readonly Row[];
  readonly legend?: readonly { readonly label: string; readonly color: string }[];
}

/**
 * Draws a comparison: one point per row with its interval as a line, and zero marked. Rows over several domains are
 * bold.
 */
export function improvementChart({ first, second, rows }: PairedComparison): string {
  return draw({
    heading: `${first} − ${second}, points of accuracy`,
    rows: rows.filter(isKnown).map((row) => ({
      title: row.title,
      bold: row.domain === null,
      marks: [{ ...row, color: paletteColor(row.mean >= 0 ? 0 : 1) }],
    })),
  });
}

/** What is drawn for several comparisons, as text. */
export function improvementTitle(comparisons: readonly PairedComparison[]): string {
  return titleOf(comparisons, {
    against: (other) => `Compared with ${other}`,
    asked: "Paired differences",
    penalties: "Effect of the penalty",
  });
}

/**
 * Draws the differences of several comparisons on each dataset and over all: one row per dataset and one colour per
 * comparison; if there are more comparisons than colours, one row each, over all datasets.
 */
export function improvementSummary(comparisons: readonly PairedComparison[]): string {
  const overall = comparisons.map(({ rows }) => rows.filter(isKnown).filter(({ domain }) => domain === null));
  const heading = `${improvementTitle(comparisons)}, points of accuracy`;
  if (comparisons.length > palette.length) {
    const other = otherOfAll(comparisons);
    const rows = comparisons.flatMap((comparison, i): Row[] => {
      const last = overall[i].slice(-1); // the mean over datasets comes last, if there are several
      const marks = last.map((row) => ({ ...row, color: paletteColor(row.mean >= 0 ? 0 : 1) }));
      return marks.length > 0 ? [{ title: nameIn(comparison, other), bold: false, marks }] : [];
    });
    return draw({ heading, rows });
  }
  const datasets = [...new Set(overall.flat().map(({ dataset }) => dataset))].filter((dataset) => dataset !== null);
  const rows = [...datasets, null].map((dataset): Row => {
    const marks = overall.flatMap((rowsOf, i) =>
      rowsOf.filter((row) => row.dataset === dataset).map((row) => ({ ...row, color: paletteColor(i) })),
    );
    const title = dataset === null ? "mean over datasets" : datasetTitle(dataset);
    return { title, bold: dataset === null, marks };
  });
  return draw({
    heading,
    rows: rows.filter(({ marks }) => marks.length > 0),
    legend: comparisons.map(({ first, second }, i) => ({ label: `${first} − ${second}`, color: paletteColor(i) })),
  });
}

const isKnown = ({ mean }: PairedDifference): boolean => Number.isFinite(mean);

function draw({ heading, rows, legend = [] }: Chart): string {
  const ends = rows.flatMap(({ marks }) => marks.flatMap(({ mean, interval }) => [mean, ...(interval ?? [])]));
  const left = MARGIN + 12 + Math.max(...rows.map(({ title }) => textWidth(title, 12, true)), 40);
  const percents = ends.map((value) => 100 * value);
  const axis = makeAxis([0, ...percents], left, left + PLOT, { where: `figure "${heading}"` });
  const top = 44;
  const heights = rows.map(({ marks }) => ROW + MARK * (marks.length - 1));
  const bottom = top + heights.reduce((sum, height) => sum + height, 0);
  const parts = [text(MARGIN, 24, heading, { size: 14, bold: true })];
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
  legend.forEach(({ label, color }, i) => {
    const y = bottom + 40 + 18 * i;
    parts.push(`<circle cx="${c(left + 6)}" cy="${c(y - 4)}" r="4" fill="${color}"/>`, text(left + 18, y, label));
  });
  const words = Math.max(...legend.map(({ label }) => left + 18 + textWidth(label, 12) + MARGIN), 0);
  const width = Math.max(left + PLOT + 24, MARGIN * 2 + textWidth(heading, 14, true), words);
  return svgDocument(width, bottom + 28 + 18 * legend.length + (legend.length > 0 ? 4 : 0), heading, parts.join("\n"));
}

function drawMark(
  { mean, interval, color }: Mark,
  y: number,
  { at, bold }: { at: (value: number) => number; bold: boolean },
): string[] {
  const point = `<circle cx="${c(at(100 * mean))}" cy="${c(y)}" r="${bold ? 5 : 4}" fill="${color}"/>`;
  if (!interval) return [point];
  const [a, b] = interval.map((value) => c(at(100 * value)));
  const width = bold ? 3 : 2;
  return [`<line x1="${a}" y1="${c(y)}" x2="${b}" y2="${c(y)}" stroke="${color}" stroke-width="${width}"/>`, point];
}
