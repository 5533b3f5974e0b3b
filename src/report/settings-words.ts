/** How runs were trained, in words, read off their settings. */

import type { StoredRun } from "../records/index.js";

/** Numbers and names as the runs had them: one, or all of them where they differ. */
function valuesOf(stored: readonly StoredRun[], key: string): string {
  const values = stored.map(({ settings }) => (settings as unknown as Readonly<Record<string, unknown>>)[key]);
  const known = [...new Set(values.filter((value) => value !== undefined && value !== null))];
  return known.every((value) => typeof value === "number")
    ? (known as number[]).sort((a, b) => a - b).join(" or ")
    : known.map(String).sort().join(" or ");
}

/** How runs were made, in one line for all of them. */
export const settingsInWords = (stored: readonly StoredRun[]): string => settingsParts(stored).join(", ");

/** The same in parts; `batch` says too how many pictures they saw at a time. */
export function settingsParts(stored: readonly StoredRun[], { batch = false } = {}): string[] {
  const draws = new Set(stored.map(({ settings }) => settings.hparamsSeed));
  const [steps, every, holdout] = ["steps", "evaluateEvery", "holdout"].map((key) => valuesOf(stored, key));
  const [backbone, precision, device] = ["backbone", "precision", "device"].map((key) => valuesOf(stored, key));
  const parts = [
    steps && `${steps} steps${batch ? batchInWords(stored) : ""}`,
    every && `evaluated every ${every}`,
    holdout && `${holdout} of each domain held back for validation`,
    backbone && `backbone ${backbone}${startInWords(stored)}${probeInWords(stored)}`,
    precision && `in ${precision}${device ? ` on ${device}` : ""}`,
    draws.size === 1 && draws.has(0) ? "default hyperparameters, no search" : `${draws.size} draws of hyperparameters`,
  ];
  return parts.filter((part): part is string => Boolean(part));
}

function batchInWords(stored: readonly StoredRun[]): string {
  const sizes = [...new Set(stored.map(({ settings: { hparams } }) => Number(hparams.batchSize)))];
  return sizes.length === 1 && sizes[0] > 0 ? ` of ${sizes[0]} pictures a domain` : "";
}

function startInWords(stored: readonly StoredRun[]): string {
  const start = valuesOf(stored, "pretrained");
  if (start === "true") return " from trained weights";
  return start === "false" ? " from random weights" : "";
}

function probeInWords(stored: readonly StoredRun[]): string {
  const probes = stored.filter(({ settings }) => (settings as { readonly probe?: true }).probe).length;
  if (probes === 0) return "";
  return probes === stored.length
    ? " and frozen, a linear map on its features trained"
    : ` and, in ${probes} of them, frozen, a linear map on its features trained`;
}
