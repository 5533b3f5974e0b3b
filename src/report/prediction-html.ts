/** Predictions as a gallery: one HTML file, the pictures that a person should look at first. */

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
  /** The model and what it was trained on, in words. */
  readonly subtitle: string;
  readonly classes: readonly string[];
  readonly predictions: readonly ShownPrediction[];
  /** How many pictures there were, where not all are shown. */
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
              "These pictures are less like training, or less certain, than almost all held-back training pictures that the model was right about. Do not rely on their classes.",
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
