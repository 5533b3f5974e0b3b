/** The measures of a model on labelled pictures, as text for a terminal. */

import { accuracyAt } from "../analysis/abstention.js";
import { mostConfused, mostWrong, type Share } from "../analysis/assess.js";
import type { Evaluation, PlacedPicture } from "../analysis/evaluation.js";
import { showLine, showName } from "../data/show-name.js";
import { percentileText } from "../model/percentile-text.js";
import { confidenceWords } from "./model-sections.js";

const percent = (share: number): string => (Number.isFinite(share) ? (100 * share).toFixed(1) : "–");
const between = ({ interval: [from, to] }: Share): string => `${percent(from)} to ${percent(to)}`;

/** With more classes than this, the matrix is only in --html and --json. */
const MOST_COLUMNS = 12;

/** The coverages at which the accuracy is printed. */
const COVERAGES = [1, 0.9, 0.8, 0.7, 0.5];

/** The complete text. `warning` says why the accuracy is too optimistic, if it is. */
export function evaluationText(
  evaluated: Evaluation,
  pictures: readonly PlacedPicture[],
  warning: string | null = null,
): string {
  const { overall, calibration, abstention, domains, byClass, classes, confusion } = evaluated;
  const far = domains.some(({ percentile }) => percentile !== null);
  const blocks = [
    `accuracy ${percent(overall.accuracy)} % (95 % interval ${between(overall)}) on ${overall.count} pictures; balanced accuracy ${percent(overall.balancedAccuracy)} %; cross-entropy ${overall.loss.toFixed(4)}, Brier score ${overall.brier.toFixed(4)}`,
    ...(warning === null ? [] : [`warning: ${warning}`]),
    table(
      [
        "domain",
        "pictures",
        "accuracy, %",
        "95 % interval",
        "calibration error, %",
        ...(far ? ["distance percentile"] : []),
      ],
      domains.map((each) => [
        showName(each.domain),
        String(each.count),
        percent(each.accuracy),
        between(each),
        percent(each.calibrationError),
        ...(far ? [each.percentile === null ? "–" : percentileText(each.percentile)] : []),
      ]),
    ),
    table(
      ["class", "pictures", "recall, %", "95 % interval", "precision, %"],
      byClass.map((each) => [
        showName(each.name),
        String(each.count),
        percent(each.accuracy),
        each.count > 0 ? between(each) : "–",
        percent(each.precision),
      ]),
    ),
    classes.length <= MOST_COLUMNS
      ? `confusion matrix (rows: true class; columns: predicted class)\n${table(
          ["", ...classes.map(showName)],
          confusion.map((row, i) => [showName(classes[i]), ...row.map(String)]),
        )}`
      : `most frequent mistakes: ${mostConfused(confusion, 8)
          .map(
            ({ label, predicted, count }) =>
              `${showName(classes[label])} predicted as ${showName(classes[predicted])} (${count})`,
          )
          .join(", ")}`,
    `expected calibration error ${percent(calibration.ece)} % (${calibration.bins.length} bins); ${confidenceWords(calibration)}`,
    `if it answers only for the pictures with the highest confidence:\n${table(
      ["answers for, %", "accuracy, %", "confidence of at least"],
      coverageRows(pictures),
    )}\narea under risk and coverage ${abstention.area.toFixed(4)} (a perfect order of these mistakes: ${abstention.bestArea.toFixed(4)})`,
  ];
  const wrong = mostWrong(pictures, 5);
  if (wrong.length > 0)
    blocks.push(
      `worst mistakes:\n${table(
        ["picture", "true class", "probability, %", "predicted", "probability, %"],
        wrong.map(({ name, label, predicted, confidence, truth }) => [
          showName(name),
          showName(classes[label]),
          percent(truth),
          showName(classes[predicted]),
          percent(confidence),
        ]),
      )}`,
    );
  if (far)
    blocks.push(
      "distance percentile: the percentage of validation pictures that are nearer to the training pictures than the median picture of the domain; about 50 for a domain like the training domains",
    );
  return `${blocks.join("\n\n")}\n`;
}

/** One row per coverage. Few pictures, or many with the same confidence, give fewer rows. */
function coverageRows(pictures: readonly PlacedPicture[]): string[][] {
  const points = COVERAGES.map((coverage) => accuracyAt(pictures, coverage));
  const different = points.filter((point, i) => points.findIndex(({ count }) => count === point.count) === i);
  return different.map(({ coverage, accuracy, threshold }) => [
    percent(coverage),
    percent(accuracy),
    threshold.toFixed(3),
  ]);
}

/** Columns under their headings, the first left-aligned and numbers right-aligned. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, i) => Math.max(title.length, ...rows.map((row) => row[i].length)));
  const isNumber = head.map((_, i) => rows.every((row) => /^(–|[-\d.]+( to [-\d.]+)?)$/.test(row[i])));
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, i) => (isNumber[i] ? cell.padStart(widths[i]) : cell.padEnd(widths[i])))
      .join("  ")
      .trimEnd();
  return [head, ...rows].map(line).map(showLine).join("\n");
}
