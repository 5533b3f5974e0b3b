/** The summary at the end of `nudge train`: accuracy by domain, the confusion matrix, and the worst mistakes. */

import { mostConfused } from "../analysis/assess.js";
import { type AssessedDomain, type Assessment, summedConfusion } from "../analysis/assessment.js";
import { countOf, showLine } from "../data/show-name.js";
import { percent } from "../drawing/page.js";
import { chanceWords, heldOutOf, intervalWords, lowestOf, meanAccuracy } from "./run-page.js";

/** With more classes a matrix does not fit into a terminal, and the most frequent mistakes are listed instead. */
const MOST_CLASSES = 12;
const MOST_WRONG = 8;

/**
 * The text. `estimate` comes from runs that each held out one domain; `tested` says which pictures of a held-out domain
 * were assessed, if not all.
 */
export function runSummary(assessment: Assessment, estimate: Assessment | null, tested?: string): string {
  const { domains: held, from } = heldOutOf({ assessment, estimate });
  const validation = assessment.domains.filter(({ part }) => part === "validation");
  const shown = held.length > 0 ? held : validation;
  const part = held.length > 0 ? "held out" : "validation";
  const of = held.length > 0 ? "held-out domains" : "validation pictures";
  const wrong = from.mostWrong.filter((each) => each.part === part).slice(0, MOST_WRONG);
  return [
    held.length > 0
      ? [
          `Accuracy on ${tested === undefined ? "" : `${tested} in `}held-out domains (95 % interval)`,
          ...domainLines(held),
          ...planLines(held),
          chanceWords(held, assessment.classes.length),
          intervalWords(from),
        ]
      : ["Accuracy on new domains: unknown, because no domain was held out"],
    [
      "Accuracy on validation pictures of the training domains (95 % interval)",
      ...domainLines(validation),
      ...(held.length === 0 && validation.length > 0 ? [chanceWords(validation, assessment.classes.length)] : []),
    ],
    confusionLines(summedConfusion(shown, assessment.classes.length), assessment.classes, of),
    wrong.length > 0
      ? [
          `Worst mistakes on ${of}, by the probability of the true class`,
          ...wrong.map(
            ({ path, label, predicted, confidence, truth }) =>
              `  ${path}: ${label} (${percent(truth)}), predicted ${predicted} (${percent(confidence)})`,
          ),
        ]
      : [],
  ]
    .filter((lines) => lines.length > 0)
    .map((lines) => `${lines.map(showLine).join("\n")}\n`)
    .join("\n");
}

/** The headline: the lowest, if there are several. */
function planLines(held: readonly AssessedDomain[]): string[] {
  if (held.length < 2) return [];
  const { name, accuracy } = lowestOf(held);
  return [
    `Plan with ${percent(accuracy)}, the lowest of the ${held.length} held-out domains (${name}): a new domain can be as difficult. The lowest value falls as domains are added.`,
  ];
}

function domainLines(domains: readonly AssessedDomain[]): string[] {
  const width = Math.max(4, ...domains.map(({ name }) => name.length));
  const lines = domains.map(
    ({ name, count, accuracy, interval }) =>
      `  ${name.padEnd(width)}  ${percent(accuracy).padStart(7)}  (${percent(interval[0])} to ${percent(interval[1])}, ${countOf(count, "picture")})`,
  );
  return domains.length > 1
    ? [...lines, `  ${"mean".padEnd(width)}  ${percent(meanAccuracy(domains)).padStart(7)}`]
    : lines;
}

function confusionLines(matrix: readonly (readonly number[])[], classes: readonly string[], of: string): string[] {
  if (classes.length > MOST_CLASSES)
    return [
      `Most frequent mistakes on ${of}`,
      ...mostConfused(matrix).map(
        ({ label, predicted, count }) => `  ${classes[label]} predicted as ${classes[predicted]}: ${count}`,
      ),
    ];
  const short = classes.map((name) => (name.length > 12 ? `${name.slice(0, 11)}…` : name));
  const widths = short.map((name, j) => Math.max(name.length, ...matrix.map((row) => String(row[j]).length)));
  const first = Math.max(...short.map(({ length }) => length));
  const line = (name: string, cells: readonly string[]): string =>
    `  ${name.padEnd(first)}  ${cells.map((cell, j) => cell.padStart(widths[j])).join("  ")}`.trimEnd();
  return [
    `Confusion matrix on ${of} (rows: true class; columns: predicted class)`,
    line("", short),
    ...matrix.map((row, i) => line(short[i], row.map(String))),
  ];
}
