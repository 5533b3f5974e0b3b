/**
 * The measures of a model on labelled pictures as one HTML file that asks the network for nothing: tables, charts as inline
 * SVG, and the pictures it was most wrong about. In light and dark; no scripts, and its own policy forbids any request.
 */

import type { Share } from "../analysis/assess.js";
import type { Evaluation, PlacedPicture } from "../analysis/evaluation.js";
import type { Thumbnail } from "../data/inspect-thumbnails.js";
import { escapeXml } from "../drawing/svg.js";
import type { ModelAbout } from "../model/about.js";
import { abstentionChart, confusionChart, reliabilityChart } from "./assessment-charts.js";

export interface EvaluationPage {
  readonly about: ModelAbout;
  /** The dataset, in words. */
  readonly dataset: string;
  readonly evaluated: Evaluation;
  /** The pictures it was most wrong about, each with its picture where there is one to show. */
  readonly wrong: readonly (PlacedPicture & { readonly thumbnail?: Thumbnail })[];
  readonly notes: readonly string[];
}

const style = `
:root { color-scheme: light dark; --ink: #1b1f24; --soft: #59636e; --line: #d1d9e0; --paper: #ffffff; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --soft: #9aa5b1; --line: #363d46; --paper: #14181d; } .figure > svg { filter: invert(0.91) hue-rotate(180deg); } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2rem 1.5rem 4rem; max-width: 84rem; background: var(--paper); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
h1 { margin: 0; font-size: 1.6rem; } h2 { margin: 2.2rem 0 .5rem; font-size: 1.2rem; }
p { margin: .3rem 0; max-width: 62rem; } .soft { color: var(--soft); } .big { font-size: 1.3rem; }
.wide { overflow-x: auto; margin: .8rem 0; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .8rem; text-align: right; white-space: nowrap; border-bottom: 1px solid var(--line); }
th:first-child { text-align: left; } thead th { border-bottom: 1px solid var(--ink); } tbody th { font-weight: 500; }
.figures { display: flex; flex-wrap: wrap; gap: 1rem; } .figure { background: #fff; border: 1px solid var(--line); border-radius: 6px; overflow: hidden; max-width: 100%; }
@media (prefers-color-scheme: dark) { .figure { background: var(--paper); } }
.figure svg { display: block; max-width: 100%; height: auto; }
.wrong { display: grid; grid-template-columns: repeat(auto-fill, minmax(11rem, 1fr)); gap: 1rem; padding: 0; list-style: none; }
.wrong li { overflow-wrap: anywhere; font-size: .9em; } .wrong img { display: block; max-width: 100%; max-height: 9rem; border-radius: 4px; margin-bottom: .3rem; }
ul { color: var(--soft); padding-left: 1.4rem; }
`;

const POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:";

const percent = (share: number | null): string =>
  share !== null && Number.isFinite(share) ? (100 * share).toFixed(1) : "–";
const interval = ({ interval: [from, to], count }: Share): string =>
  count === 0 ? "–" : `${percent(from)} to ${percent(to)}`;

/** The page. */
export function evaluationHtml({ about, dataset, evaluated, wrong, notes }: EvaluationPage): string {
  const { overall, domains, byClass, confusion, classes } = evaluated;
  const far = domains.some(({ fartherThan }) => fartherThan !== null);
  const matrix = confusionChart(confusion, classes);
  const charts = [
    ...(matrix ? [matrix] : []),
    reliabilityChart(evaluated.calibration),
    abstentionChart(evaluated.abstention),
  ];
  const trained = `${about.backbone}, trained on ${about.domains.join(", ")} of ${about.dataset}`;
  const body = [
    `<h1>Evaluation</h1><p class="soft">${escapeXml(`${trained}; evaluated on ${dataset}`)}</p>`,
    `<p class="big"><b>${percent(overall.accuracy)} %</b> of ${overall.count} pictures are right (95 % interval ${interval(overall)})</p>`,
    `<p class="soft">Each class weighed alike: ${percent(overall.balancedAccuracy)} %. Cross-entropy ${overall.loss.toFixed(4)}, Brier score ${overall.brier.toFixed(4)}.</p>`,
    "<h2>By domain</h2>",
    table(
      [
        "domain",
        "pictures",
        "accuracy, %",
        "95 % interval",
        "calibration error, %",
        ...(far ? ["farther than, %"] : []),
      ],
      domains.map((each) => [
        each.domain,
        String(each.count),
        percent(each.accuracy),
        interval(each),
        percent(each.calibrationError),
        ...(far ? [percent(each.fartherThan)] : []),
      ]),
    ),
    far
      ? `<p class="soft">Farther than: the share of held-back training pictures that lie nearer to the training domains, by their features, than the domain's middle picture; about 50 for a domain like those.</p>`
      : "",
    "<h2>By class</h2>",
    table(
      ["class", "pictures", "found, %", "95 % interval", "right when said, %"],
      byClass.map((each) => [
        each.name,
        String(each.count),
        percent(each.accuracy),
        interval(each),
        percent(each.precision),
      ]),
    ),
    `<h2>Mistakes and confidence</h2><div class="figures">${charts.map((svg) => `<div class="figure">${svg}</div>`).join("\n")}</div>`,
    wrong.length > 0
      ? `<h2>Most wrong about</h2><p class="soft">Of the pictures it was wrong about, those to whose class it gave the least.</p><ul class="wrong">${wrong.map((each) => mistake(each, classes)).join("\n")}</ul>`
      : "",
    notes.length > 0 ? `<h2>Notes</h2><ul>${notes.map((note) => `<li>${escapeXml(note)}</li>`).join("")}</ul>` : "",
  ];
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="${POLICY}"><title>Evaluation</title><link rel="icon" href="data:,">
<style>${style}</style></head><body>
${body.filter(Boolean).join("\n")}
</body></html>
`;
}

function mistake(
  { name, label, predicted, confidence, truth, thumbnail }: EvaluationPage["wrong"][number],
  classes: readonly string[],
): string {
  const image = thumbnail?.uri ? `<img src="${escapeXml(thumbnail.uri)}" alt="${escapeXml(name)}">` : "";
  const words = `is <b>${escapeXml(classes[label])}</b> (${percent(truth)} %), says <b>${escapeXml(classes[predicted])}</b> (${percent(confidence)} %)`;
  return `<li>${image}${words}<br><span class="soft">${escapeXml(name)}</span></li>`;
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const cells = (row: readonly string[]): string =>
    row
      .map((cell, i) => (i === 0 ? `<th scope="row">${escapeXml(cell)}</th>` : `<td>${escapeXml(cell)}</td>`))
      .join("");
  const heading = head.map((title) => `<th scope="col">${escapeXml(title)}</th>`).join("");
  return `<div class="wide"><table><thead><tr>${heading}</tr></thead><tbody>${rows.map((row) => `<tr>${cells(row)}</tr>`).join("\n")}</tbody></table></div>`;
}
