/**
 * The sections on the quality of a model, shared by the page of a run and the page of an evaluation: accuracy by class,
 * confusion matrix, calibration, and the worst mistakes with their pictures.
 */

import { mostConfused, type Share, shareOf } from "../analysis/assess.js";
import type { Calibration } from "../analysis/calibration.js";
import { isOwnDataset } from "../data/own-dataset.js";
import { figures, galleries, gallery, type Html, list, percent, remark, section, table } from "../drawing/page.js";
import { escapeXml } from "../drawing/svg.js";
import type { ModelAbout } from "../model/about.js";
import { confusionChart, reliabilityChart } from "./assessment-charts.js";

/** The network of a model and its training data. */
export function trainedWords({ backbone, domains, dataset }: ModelAbout): string {
  if (!isOwnDataset(dataset)) return `${backbone}, trained on ${domains.join(", ")} (${dataset})`;
  const hasDomains = domains.length > 1 || domains[0] !== "all"; // "all" is the only domain of a folder of classes
  return `${backbone}, trained on ${hasDomains ? domains.join(", ") : "pictures without domains"}`;
}

export const intervalText = ({ interval: [from, to], count }: Share): string =>
  count === 0 ? "–" : `${percent(from)} to ${percent(to)}`;

/** Recall and precision of each class, from a confusion matrix with one row per class and one column per prediction. */
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
      `On ${of}. Recall is the share of the pictures of a class that the model predicts correctly; precision is the share of the predictions of a class that are correct.`,
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
    mistakes.length > 0
      ? `<div><h3>Most frequent mistakes</h3>${list(mistakes)}</div>`
      : "<p>The model made no mistakes.</p>";
  const drawn = chart ? `<div class="figure">${chart}</div>` : "";
  return section("Confusion matrix", `<div class="figures">${drawn}${said}</div>`);
}

/** Whether the confidence is too high or too low on average, as text. */
export const confidenceWords = ({ overconfidence }: Pick<Calibration, "overconfidence">): string =>
  Math.abs(overconfidence) < 0.02
    ? "on average its confidence matches its accuracy"
    : `on average it is ${overconfidence > 0 ? "overconfident" : "underconfident"} by ${(100 * Math.abs(overconfidence)).toFixed(1)} points`;

/** Expected calibration error and the reliability diagram. */
export function calibrationSection(measured: Calibration, of: string): Html {
  const { ece } = measured;
  return section(
    "Confidence and accuracy",
    `<p>${escapeXml(`On ${of} the expected calibration error is ${percent(ece)}; ${confidenceWords(measured)}.`)}</p>`,
    figures([reliabilityChart(measured, `Reliability, ${of}`)]),
  );
}

/** A mistake as shown in the gallery. */
export interface ShownMistake {
  readonly name: string;
  readonly label: string;
  readonly predicted: string;
  /** The probabilities of the predicted class and of the true class. */
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
    ? ` A heat map (Grad-CAM${heatOfFinal ? " of the model for use" : ""}) shows which regions support the predicted class; point at a picture to see it without the heat map.`
    : "";
  return section(
    "Worst mistakes",
    remark(
      `On ${of}, sorted by the probability of the true class, lowest first. Some labels may be wrong; nudge data review finds more of these.${heat}`,
    ),
    galleries(items, gallery(items)),
  );
}
