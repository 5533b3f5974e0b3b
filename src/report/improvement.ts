/**
 * Figures of paired differences with intervals: one comparison by domain, and, like the paper's Figure 3, the effect of
 * a penalty on several methods on each dataset.
 */

import { palette, paletteColor } from "../drawing/svg.js";
import { datasetTitle } from "../settings/names.js";
import { nameIn, otherOfAll, titleOf } from "./comparison-table.js";
import { type DifferenceRow, drawDifferences } from "./difference-chart.js";
import type { PairedComparison, PairedDifference } from "./paired.js";

/**
 * Draws a comparison: one point per row with its interval as a line, and zero marked. Rows over several domains are
 * bold.
 */
export function improvementChart({ first, second, rows }: PairedComparison): string {
  return drawDifferences({
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
    const rows = comparisons.flatMap((comparison, i): DifferenceRow[] => {
      const last = overall[i].slice(-1); // the mean over datasets comes last, if there are several
      const marks = last.map((row) => ({ ...row, color: paletteColor(row.mean >= 0 ? 0 : 1) }));
      return marks.length > 0 ? [{ title: nameIn(comparison, other), bold: false, marks }] : [];
    });
    return drawDifferences({ heading, rows });
  }
  const datasets = [...new Set(overall.flat().map(({ dataset }) => dataset))].filter((dataset) => dataset !== null);
  const rows = [...datasets, null].map((dataset): DifferenceRow => {
    const marks = overall.flatMap((rowsOf, i) =>
      rowsOf.filter((row) => row.dataset === dataset).map((row) => ({ ...row, color: paletteColor(i) })),
    );
    const title = dataset === null ? "mean over datasets" : datasetTitle(dataset);
    return { title, bold: dataset === null, marks };
  });
  return drawDifferences({
    heading,
    rows: rows.filter(({ marks }) => marks.length > 0),
    legend: comparisons.map(({ first, second }, i) => ({ label: `${first} − ${second}`, color: paletteColor(i) })),
  });
}

const isKnown = ({ mean }: PairedDifference): boolean => Number.isFinite(mean);
