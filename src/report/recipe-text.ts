/** The choice of a recipe as text: one row per candidate, one column per held-out domain, and the reason for the choice. */

import { showLine } from "../data/show-name.js";
import type { Recipe } from "../own-data/recipe.js";

const percent = (value: number): string => (100 * value).toFixed(1);

/** The table's head and cells; the chosen row is marked. */
export function recipeTable({ candidates, alone = [] }: Recipe): { head: string[]; rows: string[][] } {
  return {
    head: ["candidate", ...candidates[0].domains.map(({ name }) => name), "mean", "below the best"],
    rows: [
      ...alone.map(({ name, domains, mean }) => [
        name,
        ...domains.map(({ accuracy }) => percent(accuracy)),
        percent(mean),
        "no candidate",
      ]),
      ...candidates.map(({ name, domains, mean, below, error, chosen }) => [
        `${name}${chosen ? " (chosen)" : ""}`,
        ...domains.map(({ accuracy }) => percent(accuracy)),
        percent(mean),
        below === 0 ? "" : `${percent(below)} ± ${percent(error)}`,
      ]),
    ],
  };
}

/** What the table contains, as text. */
export function recipeWords({ by, folds, nearCopies, candidates, alone, c }: Recipe): string {
  const counts = candidates[0].domains.map(({ name, count }) => `${name} ${count.toLocaleString("en-US")}`).join(", ");
  const nearCopyWords = nearCopies
    .map((names) => `${names.join(" and ")} have nearly identical pictures and were held out together. `)
    .join("");
  const how =
    by === "validation"
      ? "Accuracy in percent on validation pictures. No domain was held out, so this says nothing about other domains."
      : `Accuracy in percent on each domain, of models that were trained without it. ${nearCopyWords}The mean gives equal weight to ${folds.some(({ length }) => length > 1) ? "each group of domains that were held out together" : "each domain"}.`;
  const between = candidates.some(({ name }) => /%/.test(name))
    ? " “fine-tuned, 25 %”: the weights of the probe plus 25 % of their change by fine-tuning."
    : "";
  const mean = alone
    ? " “probe and neighbours”: the mean of the probabilities of the exact probe and of the nearest training pictures. Each of the two alone is no candidate, because their mean is more reliable than a choice between them."
    : "";
  return `${how} Pictures: ${counts}.${mean}${between} ± is the standard error of the paired difference. C = ${c} for the exact probe, as in scikit-learn for standardized features.`;
}

/** What the confidence of the model is expected to be worth on a new domain, as text; empty for a recipe of an earlier version. */
export function expectedConfidence({ by, confidence }: Recipe): string {
  if (!confidence || by === "validation") return "";
  const { temperature, fitted, errorAtOne, errorAtFitted } = confidence;
  const one = `${percent(errorAtOne)} points with the probabilities as they are (T = 1)`;
  const other =
    errorAtFitted === null
      ? ""
      : `${percent(errorAtFitted)} points with the temperature that fits the other held-out domains (T = ${fitted.toFixed(2)} for all)`;
  const [used, unused] = temperature === 1 ? [one, other] : [other, one];
  return `Confidence on a new domain: on held-out domains, the mean calibration error is ${used}, which the model uses${unused === "" ? "" : `, and ${unused}`}. With pictures of the new domain, nudge estimate corrects it.`;
}

/** For the terminal. */
export function recipeText(recipe: Recipe): string {
  const { head, rows } = recipeTable(recipe);
  const widths = head.map((name, i) => Math.max(name.length, ...rows.map((row) => row[i].length)));
  const line = (cells: readonly string[]): string =>
    `  ${cells.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]) : cell.padStart(widths[i]))).join("  ")}`.trimEnd();
  const confidence = expectedConfidence(recipe);
  return [
    ...["How the recipe was chosen", recipeWords(recipe), line(head), ...rows.map(line), recipe.reason],
    ...(confidence === "" ? [""] : [confidence, ""]),
  ]
    .map(showLine)
    .join("\n");
}
