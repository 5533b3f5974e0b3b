/** Predictions as a gallery in one HTML file, with the pictures first that need attention. */

import { card, type GalleryItem, gallery, htmlPage, list, percent, remark, section } from "../drawing/page.js";
import { escapeXml } from "../drawing/svg.js";
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
  /** The total number of pictures, if not all are shown. */
  readonly total: number;
  readonly notes: readonly string[];
}

const WHY: Readonly<Record<Unknown, string>> = {
  far: "far from training",
  uncertain: "too uncertain",
};

/** The page. */
export function predictionHtml({ subtitle, classes, predictions, total, notes }: PredictionPage): string {
  const marked = predictions.filter(({ unknown }) => unknown !== null);
  const known = predictions.filter(({ unknown }) => unknown === null);
  return htmlPage({
    title: "Predictions",
    subtitle,
    parts: [
      `<div class="cards">${card(total.toLocaleString("en-US"), "pictures")}${card(marked.length.toLocaleString("en-US"), "marked as unknown: far from training, or too uncertain")}</div>`,
      total > predictions.length
        ? remark(
            `The page shows the first ${predictions.length.toLocaleString("en-US")} pictures; --out writes all of them.`,
          )
        : "",
      section(
        "Unknown",
        marked.length > 0
          ? remark(
              "These pictures are farther from the training pictures, or have a lower probability, than almost all validation pictures that the model classified correctly. Do not rely on their predicted classes.",
            )
          : "",
        gallery(marked.map(item)),
      ),
      ...classes.map((name) => {
        const own = known.filter(({ label }) => label === name).sort((a, b) => a.probability - b.probability);
        return own.length === 0
          ? ""
          : section(
              `${name}: ${own.length.toLocaleString("en-US")}`,
              remark("The least certain first."),
              gallery(own.map(item)),
            );
      }),
      section("Notes", list(notes)),
    ],
  });
}

function item({ name, label, probability, percentile, unknown, picture, heat }: ShownPrediction): GalleryItem {
  const mark = unknown ? `, <em>${WHY[unknown]}</em>` : "";
  return {
    ...{ name, picture, heat },
    words: `<b>${escapeXml(label)}</b> ${percent(probability)}${mark}`,
    lines: [...(percentile === null ? [] : [`distance percentile ${percentile.toFixed(1)}`]), name],
  };
}
