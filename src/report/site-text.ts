/** A report on a new site as text (own-data/new-site.ts). */

import { countOf, showName } from "../data/show-name.js";
import { percentileText } from "../model/percentile-text.js";
import type { SiteReport } from "../own-data/new-site.js";

const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;

/** The significance level of the two-sample test. */
const LEVEL = 0.05;
/** An estimate from fewer pictures has a wide interval of its own. */
const MOST_SHOWN = 10;

function estimateLines({ estimate, temperature, pictures }: SiteReport): string[] {
  if (!estimate)
    return [
      "Accuracy on these pictures: unknown, because the model file has no results of held-out domains (nudge train on at least two domains stores them)",
    ];
  const { accuracy, interval, thresholded, confidence } = estimate;
  return [
    `Estimated accuracy on these ${pictures.toLocaleString("en-US")} pictures: ${percent(accuracy)} (90 % interval ${percent(interval[0])} to ${percent(interval[1])})`,
    `  from the confidence alone, without labels: average thresholded confidence gives ${percent(thresholded)}, the mean confidence ${percent(confidence)}; the estimate is between them`,
    `  temperature: ${temperature.matched!.toFixed(2)} fits the estimate (the model has ${temperature.model.toFixed(2)})`,
  ];
}

function differenceLine({ difference, percentile }: SiteReport): string {
  if (!difference)
    return "Difference from the training pictures: unknown, because the model file has no distance score";
  const { p, compared } = difference;
  const shown = p < 0.001 ? "p < 0.001" : `p = ${p.toFixed(3)}`;
  const what =
    p < LEVEL
      ? "These pictures differ from the training pictures"
      : "No difference from the training pictures was found";
  return `${what}: ${shown}, Kolmogorov-Smirnov test of the distance from training against ${compared} validation pictures; median distance percentile ${percentileText(percentile!)} (about 50 without a difference)`;
}

/** The text for the terminal. */
export function siteText(report: SiteReport): string {
  const { classes, odd, unknown, pictures } = report;
  const width = Math.max(5, ...classes.map(({ name }) => showName(name).length));
  const never = classes.filter(({ count }) => count === 0).map(({ name }) => showName(name));
  const found = classes.filter(({ count }) => count > 0).toSorted((a, b) => (a.sure ?? 0) - (b.sure ?? 0));
  return [
    ...estimateLines(report),
    differenceLine(report),
    "",
    "Predicted classes, the least certain first",
    `  ${"class".padEnd(width)}  pictures  sure enough  unknown`,
    ...found.map(
      ({ name, count, sure, unknown: marked, odd: isOdd }) =>
        `  ${showName(name).padEnd(width)}  ${String(count).padStart(8)}  ${(sure === null ? "" : percent(sure)).padStart(11)}  ${String(marked).padStart(7)}${isOdd ? "  odd: much less certain than the others" : ""}`,
    ),
    ...(never.length > 0 ? [`  never predicted: ${never.join(", ")}`] : []),
    "",
    unknown === 0
      ? "No picture is marked as unknown"
      : `${countOf(unknown, "picture")} of ${pictures} marked as unknown, the least certain first`,
    ...odd
      .slice(0, MOST_SHOWN)
      .map(
        ({ name, label, probability, why }) =>
          `  ${showName(name)}: ${showName(label)} (${percent(probability)}), ${why}`,
      ),
    "",
  ].join("\n");
}
