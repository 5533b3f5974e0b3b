/**
 * The parts that say how good a model is, the same on a run's page and on an evaluation's: accuracy of each class, confusion
 * matrix, calibration, and the worst mistakes with their pictures.
 */

import { mostConfused, type Share, shareOf } from "../analysis/assess.js";
import type { Calibration } from "../analysis/calibration.js";
import { figures, gallery, type Html, list, percent, remark, section, table } from "../drawing/page.js";
import { escapeXml } from "../drawing/svg.js";
import { confusionChart, reliabilityChart } from "./assessment-charts.js";

export const intervalText = ({ interval: [from, to], count }: Share): string =>
  count === 0 ? "–" : `${percent(from)} to ${percent(to)}`;

/** Recall and precision of each class, from a confusion matrix: a row a class, a column a prediction. */
export function classSection(matrix: readonly (readonly number[])[], classes: readonly string[], of: string): Html {
  const sum = (values: readonly number[]): number => values.reduce((all, each) => all + each, 0);
  const rows = classes.map((name, i) => {
    const recall = shareOf(matrix[i][i], sum(matrix[i]));
    const predicted = sum(matrix.map((row) => row[i]));
    return [
      name,
      recall.count.toLocaleString("en-US"),
      percent(recall.accuracy),
      intervalText(recall),
      percent(matrix[i][i] / predicted),
      predicted.toLocaleString("en-US"),
      ...(recall.count > 0 ? [{ bar: recall.accuracy }] : [""]),
    ];
  });
  return section(
    "Accuracy by class",
    remark(
      `On ${of}. Recall is the share of a class's pictures that the model finds; precision is the share of its predictions of the class that are right.`,
    ),
    table(["class", "pictures", "recall", "95 % interval", "precision", "predicted", ""], rows),
  );
}

/** The confusion matrix, and the most frequent mistakes. */
export function confusionSection(matrix: readonly (readonly number[])[], classes: readonly string[], of: string): Html {
  const chart = confusionChart(matrix, classes, `Confusion matrix, ${of}`);
  const mistakes = mostConfused(matrix).map(
    ({ label, predicted, count }) => `${classes[label]} predicted as ${classes[predicted]}: ${count}`,
  );
  const said =
    mistakes.length > 0 ? `<div><h3>Most frequent mistakes</h3>${list(mistakes)}</div>` : "<p>It made no mistake.</p>";
  const drawn = chart ? `<div class="figure">${chart}</div>` : "";
  return section("Confusion matrix", `<div class="figures">${drawn}${said}</div>`);
}

/** Expected calibration error and the reliability diagram. */
export function calibrationSection(measured: Calibration, of: string): Html {
  const { ece, overconfidence } = measured;
  const leaning =
    Math.abs(overconfidence) < 0.02
      ? "on average its confidence matches its accuracy"
      : `on average it is ${overconfidence > 0 ? "overconfident" : "underconfident"} by ${percent(Math.abs(overconfidence))}`;
  return section(
    "Confidence and accuracy",
    `<p>${escapeXml(`On ${of} the expected calibration error is ${percent(ece)}; ${leaning}.`)}</p>`,
    figures([reliabilityChart(measured, `Reliability, ${of}`)]),
  );
}

/** A mistake as the gallery shows it. */
export interface ShownMistake {
  readonly name: string;
  readonly label: string;
  readonly predicted: string;
  /** Probabilities of the class that was predicted and of the one it is of. */
  readonly confidence: number;
  readonly truth: number;
  readonly picture?: string;
  readonly heat?: string;
}

/** The worst mistakes, with their pictures. */
export function mistakesSection(mistakes: readonly ShownMistake[], of: string, heatOfFinal = false): Html {
  if (mistakes.length === 0) return "";
  const items = mistakes.map(({ name, label, predicted, confidence, truth, picture, heat }) => ({
    ...{ name, picture, heat },
    words: `<b>${escapeXml(label)}</b>, predicted <em>${escapeXml(predicted)}</em>`,
    lines: [`${predicted} ${percent(confidence)}; ${label} ${percent(truth)}`, name],
  }));
  const heat = mistakes.some((each) => each.heat)
    ? ` A heat map (Grad-CAM${heatOfFinal ? " of the model for use" : ""}) shows where the picture speaks for the predicted class; point at a picture to see it without.`
    : "";
  return section(
    "Worst mistakes",
    remark(
      `On ${of}: those first whose true class the model gave the lowest probability. Some may be wrong labels: nudge data review finds more of those.${heat}`,
    ),
    gallery(items),
  );
}
