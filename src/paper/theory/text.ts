/** The text output of `nudge theory`: the setting, the three objectives, every checked line, and a summary. */

import { accuracyText, fromLog10, short } from "./format-number.js";
import { readings } from "./reading.js";
import type { Check, Condition } from "./statements/check.js";
import type { RuleResult, TheoryResult } from "./theory.js";

function sampledText({ sampled: { plain, tilted } }: RuleResult): string {
  if (plain === null) return "–";
  if (tilted !== null && plain.hits === 0) {
    return `${fromLog10(tilted.log10)} ± ${(100 * tilted.relativeStandardError).toFixed(1)} %`;
  }
  if (plain.upperBound !== null) return `< ${short(plain.upperBound)}`;
  if (plain.lowerBound !== null) return `> ${plain.lowerBound.toFixed(5)}`;
  return `${short(plain.estimate)} ± ${short(plain.standardError ?? 0)}`;
}

function table(rows: readonly (readonly string[])[]): string[] {
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => [...row[column]].length)));
  return rows.map((row) =>
    row
      .map((cell, i) => cell + " ".repeat(widths[i] - [...cell].length))
      .join("  ")
      .trimEnd(),
  );
}

function outcomeRows({ outcomes: { l2, rank, nuclear }, setting: { r, d } }: TheoryResult): string[] {
  const header = ["objective", "α", "β", "α/β", "uses", "E ℓ", "in domain", "out of domain", "… sampled"];
  const rows = [l2, rank, nuclear].map((outcome) => [
    outcome.title,
    short(outcome.alpha),
    short(outcome.beta),
    outcome.beta === 0 ? "–" : short(outcome.alpha / outcome.beta),
    `${outcome.support.invariant} of ${r} + ${outcome.support.spurious} of ${d - r}`,
    short(outcome.loss),
    accuracyText(outcome.inDomain),
    accuracyText(outcome.outOfDomain),
    sampledText(outcome),
  ]);
  return table([header, ...rows]);
}

const MARKS = { holds: "✓", fails: "✗", outside: "–" } as const;

function checkLines(check: Check): string[] {
  const show = check.log10 ? fromLog10 : short;
  const outside =
    check.verdict === "outside"
      ? [
          `outside its conditions (${check.unmet.join(", ")}); the relation ${check.satisfied ? "is" : "is not"} true here`,
        ]
      : [];
  // Notes explain a failure or how a number was computed. They are omitted for lines that hold.
  const note =
    check.note !== undefined && (check.verdict !== "holds" || check.id.startsWith("descent")) ? [check.note] : [];
  return [
    `  ${MARKS[check.verdict]} ${check.statement}`,
    `      ${show(check.left)} ${check.relation} ${show(check.right)}${check.verdict === "fails" ? "   FAILS" : ""}`,
    ...[...outside, ...note].map((line) => `      ${line}`),
  ];
}

function conditionLine({ met, statement, left, relation, right, note }: Condition): string {
  return `  ${met ? "✓" : "✗"} ${statement}: ${short(left)} ${relation} ${short(right)}${note ? ` (${note})` : ""}`;
}

/** Wraps a paragraph at 100 columns. */
function wrap(paragraph: string): string {
  const lines: string[] = [];
  let line = "";
  for (const word of paragraph.split(" ")) {
    if (line !== "" && [...line].length + 1 + [...word].length > 100) {
      lines.push(line);
      line = word;
    } else {
      line = line === "" ? word : `${line} ${word}`;
    }
  }
  return [...lines, line].join("\n");
}

/** Returns the whole report. */
export function theoryText(result: TheoryResult): string {
  const { setting, conditions, checks, counts } = result;
  const { r, d, gamma, lambda, lambda0, lambdaStated, bRank, samples, seed } = setting;
  const parts = [...new Set(checks.map(({ part }) => part))];
  return [
    "Section 4 of “Domain Generalization via Nuclear Norm Regularization”, evaluated",
    "",
    `r = ${r} invariant features, uniform on [0, 1] in and out of domain`,
    `d − r = ${d - r} spurious features (d = ${d}): D_γ in domain, D_−γ out of it, γ = ${gamma}`,
    `λ = ${short(lambda)} (the proof's own terms allow λ ≥ λ₀ = ${short(lambda0)}; the stated Ω with constant 1 is ${short(lambdaStated)}), B_rank = ${bRank}`,
    `sampled checks: ${samples} draws each, seed ${seed}`,
    "",
    ...outcomeRows(result),
    "",
    "Conditions of the Proposition",
    ...conditions.map(conditionLine),
    "",
    "Statements (✓ holds, ✗ fails, – outside its conditions)",
    ...parts.flatMap((part) => ["", part, ...checks.filter((check) => check.part === part).flatMap(checkLines)]),
    "",
    `${counts.holds} hold, ${counts.fails} fail, ${counts.outside} are outside their conditions.`,
    "",
    "What it comes to",
    "",
    ...readings(result).map((paragraph) => `${wrap(paragraph)}\n`),
  ].join("\n");
}
