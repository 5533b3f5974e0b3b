/** The words above a table: how its models were chosen, and what was trained and measured, read off the runs' settings. */

import type { StoredRun } from "../records/index.js";
import type { Outcome } from "./outcome.js";

/** The selection rule and the protocol of the runs on some datasets. */
export function protocolWords(outcome: Outcome, datasets: readonly string[]): string[] {
  const runs = outcome.runs.filter(({ dataset }) => datasets.includes(dataset));
  const stored = [...new Set(runs.flatMap((run) => outcome.storedOf(run) ?? []))];
  const foreign = runs.filter((run) => !outcome.storedOf(run)).length;
  const { title, about } = outcome.selection;
  const words = [
    `Selection: ${title}, that is, ${about}.`,
    "Protocol: each domain held out in turn and never trained on; accuracy in percent on its `in` part, the mean over trials ± " +
      "the standard error (population standard deviation over √trials, as DomainBed).",
  ];
  if (stored.length > 0)
    words.push(`${stored.length} ${stored.length === 1 ? "run" : "runs"}: ${settingsInWords(stored)}.`);
  if (outcome.common.length > 0) words.push(`Set by hand in all of them: ${outcome.common.join(" ")}.`);
  for (const penalty of penaltiesInWords(stored)) words.push(penalty);
  words.push(...neverActive(stored));
  if (foreign > 0)
    words.push(`${foreign} of the runs were read from another testbed's result files; their settings are theirs.`);
  return words;
}

/** Numbers and names as the runs had them: one, or all of them where they differ. */
function valuesOf(stored: readonly StoredRun[], key: string): string {
  const values = stored.map(({ settings }) => (settings as unknown as Readonly<Record<string, unknown>>)[key]);
  const known = [...new Set(values.filter((value) => value !== undefined && value !== null))];
  return known.every((value) => typeof value === "number")
    ? (known as number[]).sort((a, b) => a - b).join(" or ")
    : known.map(String).sort().join(" or ");
}

function settingsInWords(stored: readonly StoredRun[]): string {
  const draws = new Set(stored.map(({ settings }) => settings.hparamsSeed));
  const [steps, every, holdout] = ["steps", "evaluateEvery", "holdout"].map((key) => valuesOf(stored, key));
  const [backbone, precision, device] = ["backbone", "precision", "device"].map((key) => valuesOf(stored, key));
  const parts = [
    steps && `${steps} steps`,
    every && `evaluated every ${every}`,
    holdout && `${holdout} of each domain held back for validation`,
    backbone && `backbone ${backbone}${startInWords(stored)}`,
    precision && `in ${precision}${device ? ` on ${device}` : ""}`,
    draws.size === 1 && draws.has(0) ? "default hyperparameters, no search" : `${draws.size} draws of hyperparameters`,
  ];
  return parts.filter(Boolean).join(", ");
}

function startInWords(stored: readonly StoredRun[]): string {
  const start = valuesOf(stored, "pretrained");
  if (start === "true") return " from trained weights";
  return start === "false" ? " from random weights" : "";
}

/** The paper's formula and the code behind its tables differ in scale and start, so every table says which was used. */
function penaltiesInWords(stored: readonly StoredRun[]): string[] {
  const seen = new Map<string, Set<string>>();
  for (const { settings } of stored) {
    for (const { id, settings: values } of settings.regularizers) {
      const text = Object.entries(values)
        .map(([name, value]) => `${name}=${value}`)
        .join(" ");
      seen.set(id, (seen.get(id) ?? new Set()).add(text));
    }
  }
  return Array.from(seen, ([id, texts]) => `Penalty ${id}: ${[...texts].sort().join("; or ") || "as declared"}.`);
}

/** Runs that ended before their penalty set in are the plain method's, whatever they are called. */
function neverActive(stored: readonly StoredRun[]): string[] {
  const late = stored.filter(({ settings }) => {
    const { steps } = settings as { readonly steps?: number };
    return settings.regularizers.some(
      ({ settings: { warmup } }) => Number(warmup) >= (steps ?? Number.POSITIVE_INFINITY),
    );
  });
  if (late.length === 0) return [];
  return [
    `In ${late.length} of the runs with a penalty it never set in: its warmup is as long as the run, so they are those of the plain method.`,
  ];
}
