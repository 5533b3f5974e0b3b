/**
 * The page of a run as one HTML file, for the user of its model: its accuracy on held-out domains, by domain and by
 * class, its confusion matrix, its worst mistakes, and the next commands; then, for researchers, calibration, the
 * charts of the training and its settings. It has no scripts, and pictures are small and embedded in the file.
 */

import {
  type AssessedDomain,
  type Assessment,
  readCalibration,
  summedConfusion,
  type WrongPicture,
} from "../analysis/assessment.js";
import { card, figures, htmlPage, list, percent, remark, section, table } from "../drawing/page.js";
import { escapeXml } from "../drawing/svg.js";
import type { Recipe } from "../own-data/recipe.js";
import {
  calibrationSection,
  classSection,
  confusionSection,
  mistakesSection,
  type ShownMistake,
} from "./model-sections.js";
import { expectedConfidence, recipeTable, recipeWords } from "./recipe-text.js";

/** The content of the page. */
export interface RunPage {
  readonly title: string;
  readonly subtitle: string;
  /** The assessment of the model. */
  readonly assessment: Assessment;
  /** The combined assessment of runs like it that each held out one domain; null if there are none. */
  readonly estimate: Assessment | null;
  /** How the recipe was chosen, if it was. */
  readonly recipe?: Recipe | null;
  /** Small pictures as data URIs, by path. */
  readonly thumbnails: ReadonlyMap<string, string>;
  /** Heat maps to lay over them, as data URIs, by path. */
  readonly heatMaps?: ReadonlyMap<string, string>;
  /** Charts of the training, as SVG. */
  readonly figures: readonly string[];
  /** How it was trained: names and values as text. */
  readonly facts: readonly (readonly [name: string, value: string])[];
  /** Next steps: a text and the command. */
  readonly commands: readonly (readonly [what: string, command: string])[];
  readonly notes: readonly string[];
}

/** The number of mistakes that are shown. */
const MOST_SHOWN = 24;

/** The accuracy on domains that were not used for training: the held-out domains of the run, or the estimate. */
export function heldOutOf({ assessment, estimate }: Pick<RunPage, "assessment" | "estimate">): {
  readonly domains: readonly AssessedDomain[];
  readonly from: Assessment;
} {
  const own = assessment.domains.filter(({ part }) => part === "held out");
  return own.length > 0 || !estimate
    ? { domains: own, from: assessment }
    : { domains: estimate.domains, from: estimate };
}

/** The mean of the domains' accuracies with equal weights, as in the tables of the field. */
export const meanAccuracy = (domains: readonly AssessedDomain[]): number =>
  domains.reduce((sum, { accuracy }) => sum + accuracy, 0) / domains.length;

/** The held-out domain with the lowest accuracy: the value to plan with. */
export const lowestOf = (domains: readonly AssessedDomain[]): AssessedDomain =>
  domains.reduce((a, b) => (b.accuracy < a.accuracy ? b : a));

/** What guessing gives, and the domains whose interval includes it, as text. */
export function chanceWords(domains: readonly AssessedDomain[], classes: number): string {
  const guessed = domains.filter(({ interval }) => interval[0] <= 1 / classes).map(({ name }) => name);
  const guess = `Guessing among ${classes} classes gives ${percent(1 / classes)}.`;
  return guessed.length === 0
    ? guess
    : `${guess} On ${guessed.join(", ")} the model may be no better than guessing, because the interval includes it: do not use it there.`;
}

/** What the lowest value means, as text. */
export function lowestWords(held: readonly AssessedDomain[]): string {
  const { name } = lowestOf(held);
  if (held.length === 1) return `on ${name}, which it was not trained on`;
  return `on ${name}, the lowest of ${held.length} held-out domains. Plan with this value: a new domain can be as difficult, or more. The lowest value falls as domains are added`;
}

/** What is in the intervals, and what is not. */
export function intervalWords({ trials = 1 }: Assessment): string {
  return trials > 1
    ? `The intervals on held-out domains cover the uncertainty from the number of pictures and the variation over seeds and splits, of which there were ${trials} trials. They do not cover differences between domains.`
    : "The Wilson intervals cover the uncertainty from the number of pictures. They do not cover differences between domains, or the variation over seeds and splits: this is one trial.";
}

function recipeSection(recipe: Recipe): string {
  const { head, rows } = recipeTable(recipe);
  const confidence = expectedConfidence(recipe);
  return section(
    "How the recipe was chosen",
    remark(recipeWords(recipe)),
    table(head, rows),
    `<p>${escapeXml(recipe.reason)}</p>`,
    confidence === "" ? "" : `<p>${escapeXml(confidence)}</p>`,
  );
}

/** The page. */
export function runPage(page: RunPage): string {
  const held = heldOutOf(page);
  const validation = page.assessment.domains.filter(({ part }) => part === "validation");
  // Mistakes and calibration are shown for pictures of held-out domains, if there are any.
  const about = held.domains.length > 0 ? "held out" : "validation";
  const shown = held.domains.length > 0 ? held.domains : validation;
  const of = about === "held out" ? "held-out domains" : "validation pictures";
  const { classes } = page.assessment;
  const matrix = summedConfusion(shown, classes.length);
  const measured = held.from.calibration[about];
  return htmlPage({
    title: page.title,
    subtitle: page.subtitle,
    parts: [
      cards(page, held.domains, validation),
      domainSection(page, held.domains, validation),
      page.recipe ? recipeSection(page.recipe) : "",
      classSection(matrix, classes, of),
      confusionSection(matrix, classes, of),
      mistakesSection(
        held.from.mostWrong
          .filter(({ part }) => part === about)
          .slice(0, MOST_SHOWN)
          .map((each) => mistake(each, page)),
        of,
        held.from.heatOfFinal,
      ),
      section(
        "Next steps",
        ...page.commands.map(([what, command]) => `<h3>${escapeXml(what)}</h3><pre>${escapeXml(command)}</pre>`),
      ),
      section("Notes", list(page.notes)),
      measured ? calibrationSection(readCalibration(measured), of) : "",
      section(
        "Training",
        figures(page.figures),
        page.figures.length > 0
          ? remark(
              "Accuracy during training on validation pictures and (dashed) on part of the held-out domains; the table above covers these domains completely. The ranks are those of the features.",
            )
          : "",
      ),
      `<section><h2>How it was trained</h2><dl>${page.facts.map(([name, value]) => `<dt>${escapeXml(name)}</dt><dd>${escapeXml(value)}</dd>`).join("")}</dl></section>`,
    ],
  });
}

const mistake = ({ domain, path, ...rest }: WrongPicture, { thumbnails, heatMaps }: RunPage): ShownMistake => ({
  ...rest,
  name: path.startsWith(`${domain}/`) ? path : `${domain}: ${path}`,
  picture: thumbnails.get(path),
  heat: heatMaps?.get(path),
});

function cards(page: RunPage, held: readonly AssessedDomain[], validation: readonly AssessedDomain[]): string {
  const range = (domains: readonly AssessedDomain[]): string => {
    const values = domains.map(({ accuracy }) => accuracy);
    const [lowest, highest] = [percent(Math.min(...values)), percent(Math.max(...values))];
    return lowest !== highest ? `, from ${lowest} to ${highest}` : "";
  };
  const { calibration } = heldOutOf(page).from;
  const calibrated = calibration["held out"] ?? calibration.validation;
  const parts = [
    held.length > 0
      ? card(percent(lowestOf(held).accuracy), lowestWords(held))
      : card("unknown", "accuracy on new domains: no domain was held out"),
    held.length > 1
      ? card(
          percent(meanAccuracy(held)),
          `mean of the ${held.length} held-out domains, with equal weights${range(held)}`,
        )
      : "",
    validation.length > 0
      ? card(
          percent(meanAccuracy(validation)),
          `on validation pictures of the training domains${range(validation)}; this says nothing about other domains`,
        )
      : "",
    calibrated
      ? card(percent(calibrated.ece), "expected calibration error: the mean difference between confidence and accuracy")
      : "",
  ];
  return `<div class="cards">${parts.join("")}</div>`;
}

function domainSection(
  { assessment, estimate, recipe }: RunPage,
  held: readonly AssessedDomain[],
  validation: readonly AssessedDomain[],
): string {
  const row = ({ name, part, count, accuracy, interval }: AssessedDomain): string =>
    `<tr><th scope="row">${escapeXml(name)}</th><td>${part === "held out" ? "held-out domain" : "validation"}</td><td>${count.toLocaleString("en-US")}</td><td>${percent(accuracy)}</td><td>${percent(interval[0])} to ${percent(interval[1])}</td><td class="bar"><span class="track"><i style="width:${(100 * accuracy).toFixed(1)}%"></i></span></td></tr>`;
  const head = ["domain", "evaluated as", "pictures", "accuracy", "95 % interval", ""];
  const fromEstimate =
    held.length > 0 && estimate !== null && !assessment.domains.some(({ part }) => part === "held out");
  const words = fromEstimate
    ? `“Held-out domain”: a model was trained in the same way without this domain${recipe ? " and its near-copies" : ""}, and evaluated on this many of its pictures. This estimates the accuracy on a new domain; the final model was trained on all domains. “Validation”: pictures of the training domains that were not used for training.`
    : held.length > 0
      ? "“Held-out domain”: no picture of the domain was used for training. “Validation”: pictures of the training domains that were not used for training."
      : "The model was trained on all domains, and these are validation pictures of them. The accuracy on new domains is unknown: it can be much lower with new cameras, places or styles. To get an estimate, put the pictures of each domain in a separate folder, with at least two domains.";
  return `<section><h2>Accuracy by domain</h2><p class="soft">${words}</p><div class="wide"><table><thead><tr>${head.map((text) => `<th scope="col">${text}</th>`).join("")}</tr></thead><tbody>${[...held, ...validation].map(row).join("")}</tbody></table></div><p class="soft">${escapeXml(chanceWords(held.length > 0 ? held : validation, assessment.classes.length))} ${intervalWords(heldOutOf({ assessment, estimate }).from)}</p></section>`;
}
