/** How runs were trained, as text derived from their settings. */

import type { StoredRun } from "../records/index.js";

/** The numbers and names of the runs: one value, or all of them if they differ. */
function valuesOf(stored: readonly StoredRun[], key: string): string {
  const values = stored.map(({ settings }) => (settings as unknown as Readonly<Record<string, unknown>>)[key]);
  const known = [...new Set(values.filter((value) => value !== undefined && value !== null))];
  return known.every((value) => typeof value === "number")
    ? (known as number[]).sort((a, b) => a - b).join(" or ")
    : known.map(String).sort().join(" or ");
}

/** How runs were trained, in one line for all of them. */
export const settingsInWords = (stored: readonly StoredRun[]): string => settingsParts(stored).join(", ");

/** The same in parts. `batch` adds the batch size. */
export function settingsParts(stored: readonly StoredRun[], { batch = false } = {}): string[] {
  const draws = new Set(stored.map(({ settings }) => settings.hparamsSeed));
  const trained = stored.filter((run) => probeOf(run) !== "exact"); // an exact probe is solved and has no steps
  const [steps, every] = ["steps", "evaluateEvery"].map((key) => valuesOf(trained, key));
  const holdout = valuesOf(stored, "holdout");
  const [backbone, precision, device] = ["backbone", "precision", "device"].map((key) => valuesOf(stored, key));
  const parts = [
    steps && `${steps} ${steps === "1" ? "step" : "steps"}${batch ? batchInWords(trained) : ""}`,
    every && `evaluated every ${every}`,
    holdout &&
      `${holdout.replace(/[\d.]+/g, (share) => String(Number((100 * Number(share)).toPrecision(3))))} % of each domain for validation`,
    backbone && `backbone ${backbone}${startInWords(stored)}${probeInWords(stored)}`,
    precision && `in ${precision}${device ? ` on ${device}` : ""}`,
    draws.size === 1 && draws.has(0) ? "default hyperparameters, no search" : `${draws.size} draws of hyperparameters`,
  ];
  return parts.filter((part): part is string => Boolean(part));
}

function batchInWords(stored: readonly StoredRun[]): string {
  const sizes = [...new Set(stored.map(({ settings: { hparams } }) => Number(hparams.batchSize)))];
  return sizes.length === 1 && sizes[0] > 0 ? ` of ${sizes[0]} pictures per domain` : "";
}

function startInWords(stored: readonly StoredRun[]): string {
  const start = valuesOf(stored, "pretrained");
  if (start === "true") return " from pretrained weights";
  return start === "false" ? " from random weights" : "";
}

/** The kind of a run's probe: exact, true for one trained with stochastic gradients, or undefined. */
const probeOf = ({ settings }: StoredRun): unknown => (settings as { readonly probe?: unknown }).probe;

const PROBES = [
  [(run: StoredRun) => probeOf(run) === "exact", "frozen, with logistic regression on its features"],
  [(run: StoredRun) => probeOf(run) === true, "frozen, with a trained linear map on its features"],
] as const;

function probeInWords(stored: readonly StoredRun[]): string {
  return PROBES.map(([isSuch, words]) => {
    const count = stored.filter(isSuch).length;
    if (count === 0) return "";
    return count === stored.length ? `, ${words}` : `, in ${count} of them ${words}`;
  }).join("");
}
