/**
 * A run as one HTML file for the person who wants to use its model: how right it is on domains it did not see, what it takes
 * for what, the pictures it is most wrong about, how it was trained, and what to type next. It has no scripts, and its own
 * policy forbids any request; pictures are small and inside the file.
 */

import { mostConfused } from "../analysis/assess.js";
import {
  type AssessedDomain,
  type Assessment,
  type StoredCalibration,
  summedConfusion,
  type WrongPicture,
} from "../analysis/assessment.js";
import { escapeXml } from "../drawing/svg.js";
import { confusionChart, reliabilityChart } from "./assessment-charts.js";
import { runPageStyle } from "./run-page-style.js";

/** What the page is made from. */
export interface RunPage {
  readonly title: string;
  readonly subtitle: string;
  /** Of the model that the page is about. */
  readonly assessment: Assessment;
  /** Of runs like it that each held one domain out, together; null where there are none. */
  readonly estimate: Assessment | null;
  /** Small pictures as data URIs, by path. */
  readonly thumbnails: ReadonlyMap<string, string>;
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

const POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:";

export const percent = (value: number): string => `${(100 * value).toFixed(1)} %`;

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

/** The page. */
export function runPage(page: RunPage): string {
  const held = heldOutOf(page);
  const validation = page.assessment.domains.filter(({ part }) => part === "validation");
  // Mistakes and calibration are shown of pictures of unseen domains, where there are any.
  const about = held.domains.length > 0 ? "held out" : "validation";
  const shown = held.domains.length > 0 ? held.domains : validation;
  const { classes } = page.assessment;
  const body = [
    `<h1>${escapeXml(page.title)}</h1><p class="soft">${escapeXml(page.subtitle)}</p>`,
    cards(page, held.domains, validation),
    domainSection(page, held.domains, validation),
    confusionSection(shown, classes, about),
    calibrationSection(held.from.calibration[about], about),
    wrongSection(
      held.from.mostWrong.filter(({ part }) => part === about),
      page.thumbnails,
    ),
    page.figures.length > 0
      ? `<section><h2>Training</h2>${figures(page.figures)}<p class="soft">Accuracy as training went on, on validation parts and, dashed, on held-out domains, of which it looks at most pictures, where the table above has all of them; the ranks are of features.</p></section>`
      : "",
    `<section><h2>How it was trained</h2><dl>${page.facts.map(([name, value]) => `<dt>${escapeXml(name)}</dt><dd>${escapeXml(value)}</dd>`).join("")}</dl></section>`,
    `<section><h2>What to do next</h2>${page.commands.map(([what, command]) => `<h3>${escapeXml(what)}</h3><pre>${escapeXml(command)}</pre>`).join("")}</section>`,
    page.notes.length > 0
      ? `<section><h2>Notes</h2><ul class="plain">${page.notes.map((note) => `<li>${escapeXml(note)}</li>`).join("")}</ul></section>`
      : "",
  ];
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="${POLICY}"><title>${escapeXml(page.title)}</title><link rel="icon" href="data:,">
<style>${runPageStyle}</style></head><body><main>
${body.filter((part) => part !== "").join("\n")}
</main></body></html>
`;
}

const card = (value: string, words: string): string =>
  `<div class="card"><b>${escapeXml(value)}</b><span>${escapeXml(words)}</span></div>`;

function cards(page: RunPage, held: readonly AssessedDomain[], validation: readonly AssessedDomain[]): string {
  const range = (domains: readonly AssessedDomain[]): string => {
    const values = domains.map(({ accuracy }) => accuracy);
    return domains.length > 1 ? `, from ${percent(Math.min(...values))} to ${percent(Math.max(...values))}` : "";
  };
  const { calibration } = heldOutOf(page).from;
  const calibrated = calibration["held out"] ?? calibration.validation;
  const parts = [
    held.length > 0
      ? card(percent(meanAccuracy(held)), `right on domains it has not seen${range(held)}`)
      : card("unknown", "how right it is on domains it has not seen: none was held back"),
    validation.length > 0
      ? card(
          percent(meanAccuracy(validation)),
          `right on new pictures of the domains it was trained on${range(validation)}`,
        )
      : "",
    calibrated ? card(percent(calibrated.ece), "between how sure it is and how right it is, on average") : "",
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
  return `<section><h2>Accuracy by domain</h2><p class="soft">${words}</p><div class="wide"><table><thead><tr>${head.map((text) => `<th scope="col">${text}</th>`).join("")}</tr></thead><tbody>${[...held, ...validation].map(row).join("")}</tbody></table></div><p class="soft">The intervals are Wilson's: they say how much chance is in so many pictures, not how much domains differ.</p></section>`;
}

function confusionSection(domains: readonly AssessedDomain[], classes: readonly string[], about: string): string {
  const matrix = summedConfusion(domains, classes.length);
  const of = about === "held out" ? "domains it had not seen" : "validation pictures";
  const chart = confusionChart(matrix, classes, `On ${of}`);
  const mistakes = mostConfused(matrix).map(
    ({ label, predicted, count }) =>
      `<li>${escapeXml(classes[label])} taken for ${escapeXml(classes[predicted])}: ${count}</li>`,
  );
  const list =
    mistakes.length > 0
      ? `<div><h3>Most frequent mistakes</h3><ul class="plain">${mistakes.join("")}</ul></div>`
      : "<p>It made no mistake.</p>";
  return `<section><h2>What it takes for what</h2><div class="figures">${chart ? `<div class="figure">${chart}</div>` : ""}${list}</div></section>`;
}

function calibrationSection(measured: StoredCalibration | undefined, about: string): string {
  if (!measured) return "";
  const bins = measured.bins.map((bin) => ({
    ...bin,
    confidence: bin.confidence ?? Number.NaN,
    accuracy: bin.accuracy ?? Number.NaN,
  }));
  const { ece, overconfidence } = measured;
  const leaning =
    Math.abs(overconfidence) < 0.02
      ? "on average it is about as sure as it is right"
      : overconfidence > 0
        ? "on average it is surer than it is right"
        : "on average it is less sure than it could be";
  const of = about === "held out" ? "domains it had not seen" : "validation pictures";
  return `<section><h2>Can its confidence be trusted?</h2><p>On ${of} its confidence and its accuracy differ by ${percent(ece)} (expected calibration error); ${leaning}.</p>${figures([reliabilityChart({ ...measured, bins }, `Calibration on ${of}`)])}</section>`;
}

function wrongSection(wrong: readonly WrongPicture[], thumbnails: ReadonlyMap<string, string>): string {
  if (wrong.length === 0) return "";
  const items = wrong.slice(0, MOST_SHOWN).map(({ domain, path, label, predicted, confidence, truth }) => {
    const uri = thumbnails.get(path);
    const picture = uri ? `<img src="${uri}" alt="${escapeXml(path)}">` : '<span class="none">cannot be shown</span>';
    return `<li>${picture}<div><b>${escapeXml(label)}</b>, taken for <em>${escapeXml(predicted)}</em><small>${percent(confidence)} sure; ${percent(truth)} for ${escapeXml(label)}</small><small>${escapeXml(path.startsWith(`${domain}/`) ? path : `${domain}: ${path}`)}</small></div></li>`;
  });
  return `<section><h2>The pictures it was most wrong about</h2><p class="soft">Those first whose right class it thought least likely. Some may be labels that are wrong.</p><ul class="wrong">${items.join("")}</ul></section>`;
}

const figures = (svgs: readonly string[]): string =>
  `<div class="figures">${svgs.map((svg) => `<div class="figure">${svg}</div>`).join("\n")}</div>`;
