/** Charts of a model's measures on labelled pictures: confusion matrix, reliability diagram, accuracy against coverage. */

import type { Abstention } from "../analysis/abstention.js";
import type { Calibration } from "../analysis/calibration.js";
import { lineChart } from "../drawing/plot.js";
import { textWidth } from "../drawing/stroke-font.js";
import { coordinate as c, svgDocument, text } from "../drawing/svg.js";

/** With more classes than this the matrix is unreadable and is not drawn. */
export const MOST_DRAWN_CLASSES = 40;

/** The confusion matrix as a chart: one row per class, shaded by the share of its pictures; null with too many classes. */
export function confusionChart(
  matrix: readonly (readonly number[])[],
  classes: readonly string[],
  title = "Confusion matrix",
): string | null {
  if (classes.length > MOST_DRAWN_CLASSES) return null;
  const names = classes.map((name) => (name.length > 24 ? `${name.slice(0, 23)}…` : name));
  const longest = Math.max(...names.map((name) => textWidth(name, 12)));
  const digits = Math.max(...matrix.flat()).toString().length;
  const cell = Math.max(classes.length > 12 ? 22 : 34, 10 + 7 * digits);
  const side = cell * classes.length;
  const note = "rows: true class; columns: predicted class";
  const [beside, after, top] = [longest + 44, Math.max(24, longest * 0.75), longest * 0.75 + 64];
  const content = beside + side + after;
  const width = Math.max(content, 32 + textWidth(title, 14, true), 32 + textWidth(note, 11));
  const left = beside + (width - content) / 2;
  const parts = [
    text(width / 2, 22, title, { size: 14, bold: true, anchor: "middle" }),
    text(width / 2, top + side + 24, note, { anchor: "middle", size: 11 }),
  ];
  for (const [i, row] of matrix.entries()) {
    const total = row.reduce((sum, count) => sum + count, 0);
    const y = top + i * cell;
    parts.push(text(left - 8, y + cell / 2 + 4, names[i], { anchor: "end" }));
    parts.push(text(left + i * cell + cell / 2 + 4, top - 8, names[i], { rotate: -45 }));
    for (const [j, count] of row.entries()) {
      const share = total === 0 ? 0 : count / total;
      const x = left + j * cell;
      const colour = i === j ? "#0072B2" : "#D55E00";
      const shade = share === 0 ? "" : ` fill="${colour}" fill-opacity="${c(0.08 + 0.92 * share)}"`;
      parts.push(
        `<rect x="${c(x)}" y="${c(y)}" width="${c(cell)}" height="${c(cell)}"${shade || ' fill="none"'} stroke="#d0d0d0" stroke-width="1"/>`,
      );
      if (count > 0)
        parts.push(
          text(x + cell / 2, y + cell / 2 + 4, String(count), {
            anchor: "middle",
            size: 11,
            color: share > 0.75 ? "#ffffff" : "#222222",
          }),
        );
    }
  }
  return svgDocument(width, top + side + 40, title, parts.join("\n"));
}

/** Accuracy against confidence. A calibrated model lies on the diagonal. */
export function reliabilityChart({ bins, ece }: Calibration, title = "Reliability"): string {
  const filled = bins.filter(({ count }) => count > 0);
  return lineChart({
    title,
    xLabel: "confidence, %",
    yLabel: "accuracy, %",
    yMin: 0,
    yMax: 100,
    series: [
      {
        label: "calibrated",
        dash: true,
        color: "#888888",
        points: [
          { x: 0, y: 0 },
          { x: 100, y: 100 },
        ],
      },
      {
        label: "the model",
        marker: true,
        color: "#0072B2",
        points: filled.map(({ confidence, accuracy }) => ({ x: 100 * confidence, y: 100 * accuracy })),
      },
    ],
    note: `expected calibration error ${(100 * ece).toFixed(1)} %, ${bins.length} bins, ${filled.length} with pictures`,
  });
}

/** Accuracy on the pictures with the highest confidence, against their number. */
export function abstentionChart({ curve }: Abstention, title = "Accuracy against coverage"): string {
  return lineChart({
    title,
    xLabel: "coverage, % of pictures, highest confidence first",
    yLabel: "accuracy on these pictures, %",
    yMax: 100,
    series: [
      {
        label: "the model",
        color: "#0072B2",
        points: curve.map(({ coverage, accuracy }) => ({ x: 100 * coverage, y: 100 * accuracy })),
      },
    ],
  });
}
