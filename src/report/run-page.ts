/**
 * A run as one HTML file for the person who wants to use its model: its accuracy on domains it did not see, by domain and by
 * class, its confusion matrix, its worst mistakes, and what to type next; then, for researchers, calibration, the charts of the
 * training and its settings. It has no scripts, and pictures are small and inside the file.
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
import { recipeTable, recipeWords } from "./recipe-text.js";

/** What the page is made from. */
export interface RunPage {
  readonly title: string;
  readonly subtitle: string;
  /** Of the model that the page is about. */
  readonly assessment: Assessment;
  /** Of runs like it that each held one domain out, together; null where there are none. */
  readonly estimate: Assessment | null;
  /** How the recipe was chosen, where it was. */
  readonly recipe?: Recipe | null;
  /** Small pictures as data URIs, by path. */
  readonly thumbnails: ReadonlyMap<string, string>;
  /** Heat maps to lay over them, as data URIs, by path. */
  readonly heatMaps?: ReadonlyMap<string, string>;
  /** Charts of the training, as SVG. */
  readonly figures: readonly string[];
  /** How it was trained: names and values in words. */
  readonly facts: readonly (readonly [name: string, value: string])[];
  /** What to do next: words and the command. */
  readonly commands: readonly (readonly [what: string, command: string])[];
  readonly notes: readonly string[];
}

/** Mistakes that are shown. */
const MOST_SHOWN = 24;

/** What is known of domains the model was not trained on: its own held-out ones, or the estimate. */
export function heldOutOf({ assessment, estimate }: Pick<RunPage, "assessment" | "estimate">): {
  readonly domains: readonly AssessedDomain[];
  readonly from: Assessment;
} {
  const own = assessment.domains.filter(({ part }) => part === "held out");
  return own.length > 0 || !estimate
    ? { domains: own, from: assessment }
    : { domains: estimate.domains, from: estimate };
}

/** The mean of the domains' accuracies, each counting the same, as the field's tables have it. */
export const meanAccuracy = (domains: readonly AssessedDomain[]): number =>
  domains.reduce((sum, { accuracy }) => sum + accuracy, 0) / domains.length;

/** The held-out domain with the lowest accuracy: what to plan with. */
export const lowestOf = (domains: readonly AssessedDomain[]): AssessedDomain =>
  domains.reduce((a, b) => (b.accuracy < a.accuracy ? b : a));

/** What the lowest is, in words. */
export function lowestWords(held: readonly AssessedDomain[]): string {
  const { name } = lowestOf(held);
  if (held.length === 1) return `on ${name}, which it was not trained on`;
  return `on ${name}, the lowest of ${held.length} held-out domains: plan with this. A new domain may be as far off; with more domains held out, the lowest falls`;
}

function recipeSection(recipe: Recipe): string {
  const { head, rows } = recipeTable(recipe);
  return section(
    "How the recipe was chosen",
    remark(recipeWords(recipe)),
    table(head, rows),
    `<p>${escapeXml(recipe.reason)}</p>`,
  );
}

/** The page. */
export function runPage(page: RunPage): string {
  const held = heldOutOf(page);
  const validation = page.assessment.domains.filter(({ part }) => part === "validation");
  // Mistakes and calibration are shown of pictures of unseen domains, where there are any.
  const about = held.domains.length > 0 ? "held out" : "validation";
  const shown = held.domains.length > 0 ? held.domains : validation;
  const of = about === "held out" ? "domains it was not trained on" : "validation pictures";
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
        "What to do next",
        ...page.commands.map(([what, command]) => `<h3>${escapeXml(what)}</h3><pre>${escapeXml(command)}</pre>`),
      ),
      section("Notes", list(page.notes)),
      measured ? calibrationSection(readCalibration(measured), of) : "",
      section(
        "Training",
        figures(page.figures),
        page.figures.length > 0
          ? remark(
              "Accuracy during training on validation parts and, dashed, on part of the held-out domains, which the table above measures whole; the ranks are of features.",
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
    return domains.length > 1 ? `, from ${percent(Math.min(...values))} to ${percent(Math.max(...values))}` : "";
  };
  const { calibration } = heldOutOf(page).from;
  const calibrated = calibration["held out"] ?? calibration.validation;
  const parts = [
    held.length > 0
      ? card(percent(lowestOf(held).accuracy), lowestWords(held))
      : card("unknown", "accuracy on domains it was not trained on: none was held out"),
    held.length > 1
      ? card(
          percent(meanAccuracy(held)),
          `mean of the ${held.length} held-out domains, each counting the same${range(held)}`,
        )
      : "",
    validation.length > 0
      ? card(
          percent(meanAccuracy(validation)),
          `on validation pictures, held back from the domains it was trained on${range(validation)}; says nothing of other domains`,
        )
      : "",
    calibrated
      ? card(percent(calibrated.ece), "expected calibration error: the mean difference between confidence and accuracy")
      : "",
  ];
  return `<div class="cards">${parts.join("")}</div>`;
}

function domainSection(
  { assessment, estimate }: RunPage,
  held: readonly AssessedDomain[],
  validation: readonly AssessedDomain[],
): string {
  const row = ({ name, part, count, accuracy, interval }: AssessedDomain): string =>
    `<tr><th scope="row">${escapeXml(name)}</th><td>${part === "held out" ? "never seen" : "validation"}</td><td>${count.toLocaleString("en-US")}</td><td>${percent(accuracy)}</td><td>${percent(interval[0])} to ${percent(interval[1])}</td><td class="bar"><span class="track"><i style="width:${(100 * accuracy).toFixed(1)}%"></i></span></td></tr>`;
  const head = ["domain", "its pictures were", "pictures", "right", "95 % interval", ""];
  const fromEstimate =
    held.length > 0 && estimate !== null && !assessment.domains.some(({ part }) => part === "held out");
  const words = fromEstimate
    ? "“Never seen”: a model trained the same way on all the other domains, asked about every picture of this one. That is the estimate of what to expect from a new domain; the model itself was trained on all of them. “Validation”: pictures that were held back from the domains the model was trained on."
    : held.length > 0
      ? "“Never seen”: the domain was kept from training altogether. “Validation”: pictures that were held back from the domains the model was trained on."
      : "All domains were trained on, so these are pictures held back from them. Of domains that the model has not seen nothing is known: new cameras, places or styles may do much worse. Put the pictures of each domain in a folder of its own, two domains at least, to have an estimate.";
  return `<section><h2>Accuracy by domain</h2><p class="soft">${words}</p><div class="wide"><table><thead><tr>${head.map((text) => `<th scope="col">${text}</th>`).join("")}</tr></thead><tbody>${[...held, ...validation].map(row).join("")}</tbody></table></div><p class="soft">The intervals are Wilson's: they say how much chance is in so many pictures. They leave out how much domains differ, and the spread over seeds and splits: this is one trial.</p></section>`;
}
