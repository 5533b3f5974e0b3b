/** Predictions as a gallery in one HTML file, with the pictures first that need attention. */

import {
  card,
  type GalleryItem,
  galleries,
  gallery,
  type Html,
  htmlPage,
  list,
  percent,
  remark,
  section,
} from "../drawing/page.js";
import { escapeXml } from "../drawing/svg.js";
import { percentileText } from "../model/percentile-text.js";
import type { Unknown } from "../model/unknown.js";

export interface ShownPrediction {
  readonly name: string;
  readonly label: string;
  readonly probability: number;
  readonly percentile: number | null;
  readonly unknown: Unknown | null;
  readonly picture?: string;
  readonly heat?: string;
}

export interface PredictionPage {
  /** The model and its training data, as text. */
  readonly subtitle: string;
  readonly classes: readonly string[];
  readonly predictions: readonly ShownPrediction[];
  /** The total number of pictures: predicted ones, which are not all shown if there are many, and those that could not be read. */
  readonly total: number;
  /** The pictures that could not be read, and why. */
  readonly problems: readonly string[];
  readonly notes: readonly string[];
}

const WHY: Readonly<Record<Unknown, string>> = {
  far: "far from training",
  uncertain: "too uncertain",
};

/** The page. */
export function predictionHtml({ subtitle, classes, predictions, total, problems, notes }: PredictionPage): string {
  const marked = predictions.filter(({ unknown }) => unknown !== null);
  const known = predictions.filter(({ unknown }) => unknown === null);
  return htmlPage({
    title: "Predictions",
    subtitle,
    parts: [
      `<div class="cards">${card(total.toLocaleString("en-US"), "pictures")}${card(marked.length.toLocaleString("en-US"), "marked as unknown: far from training, or too uncertain")}${problems.length > 0 ? card(problems.length.toLocaleString("en-US"), "could not be read") : ""}</div>`,
      remark("The pictures of each predicted class are sorted by probability, the least certain first."),
      total - problems.length > predictions.length
        ? remark(
            `The page shows the first ${predictions.length.toLocaleString("en-US")} predicted pictures; --out writes all of them.`,
          )
        : "",
      galleries(
        predictions.map(item),
        [problemSection(problems), unknownSection(marked), ...classes.map((name) => classSection(name, known))].join(
          "\n",
        ),
      ),
      section("Notes", list(notes)),
    ],
  });
}

/** The largest number of unreadable pictures that are listed. */
const MOST_PROBLEMS = 200;

function problemSection(problems: readonly string[]): Html {
  if (problems.length === 0) return "";
  const more = problems.length - MOST_PROBLEMS;
  const rest = more > 0 ? [`${more.toLocaleString("en-US")} more; --out writes all of them`] : [];
  return section("Could not be read", list([...problems.slice(0, MOST_PROBLEMS), ...rest]));
}

const unknownSection = (marked: readonly ShownPrediction[]): Html =>
  marked.length === 0
    ? ""
    : section(
        "Unknown",
        remark(
          "These pictures are farther from the training pictures, or have a lower probability, than almost all validation pictures that the model classified correctly. Do not rely on their predicted classes.",
        ),
        gallery(marked.map(item)),
      );

/** The pictures of a predicted class, the least certain first. */
function classSection(name: string, known: readonly ShownPrediction[]): Html {
  const own = known.filter(({ label }) => label === name).sort((a, b) => a.probability - b.probability);
  return section(`${name}: ${own.length.toLocaleString("en-US")}`, gallery(own.map(item)));
}

function item({ name, label, probability, percentile, unknown, picture, heat }: ShownPrediction): GalleryItem {
  const mark = unknown ? `, <em>${WHY[unknown]}</em>` : "";
  return {
    ...{ name, picture, heat },
    words: `<b>${escapeXml(label)}</b> ${percent(probability)}${mark}`,
    lines: [...(percentile === null ? [] : [`distance percentile ${percentileText(percentile)}`]), name],
  };
}
