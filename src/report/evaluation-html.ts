/** The measures of a model on labelled pictures as one HTML file, with the same sections as the page of a run. */

import type { Evaluation, PlacedPicture } from "../analysis/evaluation.js";
import type { Thumbnail } from "../data/inspect-thumbnails.js";
import { card, figures, htmlPage, list, percent, remark, section, table } from "../drawing/page.js";
import { escapeXml } from "../drawing/svg.js";
import type { ModelAbout } from "../model/about.js";
import { percentileText } from "../model/percentile-text.js";
import { type TrainedOn, trainedOnWords } from "../model/trained-on.js";
import { abstentionChart } from "./assessment-charts.js";
import {
  calibrationSection,
  classSection,
  confusionSection,
  intervalText,
  mistakesSection,
  trainedWords,
} from "./model-sections.js";

export interface EvaluationPage {
  readonly about: ModelAbout;
  /** The dataset, as text. */
  readonly dataset: string;
  readonly evaluated: Evaluation;
  /** The training pictures of the model among the evaluated ones. */
  readonly trainedOn: TrainedOn | null;
  /** The worst mistakes, each with its picture and its heat map if there is one. */
  readonly wrong: readonly (PlacedPicture & { readonly thumbnail?: Thumbnail; readonly heat?: string })[];
  readonly notes: readonly string[];
}

/** The page. */
export function evaluationHtml({ about, dataset, evaluated, trainedOn, wrong, notes }: EvaluationPage): string {
  const { overall, confusion, classes, calibration } = evaluated;
  const of = "these pictures";
  return htmlPage({
    title: "Evaluation",
    subtitle: `${trainedWords(about)}; evaluated on ${dataset}.`,
    parts: [
      trainedOn ? `<p class="bad">${escapeXml(capitalized(trainedOnWords(trainedOn)))}.</p>` : "",
      `<div class="cards">${[
        ...(trainedOn && "others" in trainedOn && trainedOn.others.count > 0
          ? [
              card(
                percent(trainedOn.others.accuracy),
                `accuracy on the ${trainedOn.others.count} pictures that are not copies or near-duplicates of training pictures (95 % interval ${intervalText(trainedOn.others)})`,
              ),
            ]
          : []),
        card(
          percent(overall.accuracy),
          `accuracy on ${trainedOn ? "all " : ""}${overall.count} pictures (95 % interval ${intervalText(overall)})`,
        ),
        card(percent(overall.balancedAccuracy), "balanced accuracy: the mean recall of the classes"),
        card(
          percent(calibration.ece),
          "expected calibration error: the mean difference between confidence and accuracy",
        ),
      ].join("")}</div>`,
      domainSection(evaluated),
      classSection(confusion, classes, of),
      confusionSection(confusion, classes, of),
      mistakesSection(
        wrong.map(({ name, label, predicted, confidence, truth, thumbnail, heat }) => ({
          ...{ name, confidence, truth, heat, picture: thumbnail?.uri },
          ...{ label: classes[label], predicted: classes[predicted] },
        })),
        of,
      ),
      section("Notes", list(notes.map(capitalized))),
      calibrationSection(calibration, of),
      section(
        "Abstention",
        remark(
          `Cross-entropy ${overall.loss.toFixed(4)}, Brier score ${overall.brier.toFixed(4)}. The chart shows the accuracy if the model answers only for the pictures with the highest confidence.`,
        ),
        figures([abstentionChart(evaluated.abstention)]),
      ),
    ],
  });
}

const capitalized = (note: string): string => `${note[0].toUpperCase()}${note.slice(1)}`;

function domainSection({ domains }: Evaluation): string {
  const far = domains.some(({ percentile }) => percentile !== null);
  const head = ["domain", "pictures", "accuracy", "95 % interval", "calibration error"];
  const rows = domains.map((each) => [
    each.domain,
    each.count.toLocaleString("en-US"),
    percent(each.accuracy),
    intervalText(each),
    percent(each.calibrationError),
    ...(far ? [each.percentile === null ? "–" : percentileText(each.percentile)] : []),
    { bar: each.accuracy },
  ]);
  return section(
    "Accuracy by domain",
    table([...head, ...(far ? ["distance percentile"] : []), ""], rows),
    far ? remark(PERCENTILE) : "",
  );
}

/** One sentence on the distance percentile of a domain. */
export const PERCENTILE =
  "Distance percentile: the percentage of validation pictures that are nearer to the training pictures, by their features, than the median picture of the domain. It is about 50 for a domain like the training domains and near 100 for a very different one.";
