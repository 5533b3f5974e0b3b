/**
 * The table of a study of weights, as texts that every format can print: one row per setting, the method without a
 * penalty first.
 */

import { oneDecimal } from "../selection/cells.js";
import { intervalPoints, pText, signedPoints } from "../selection/signed-points.js";
import { holmOfRows } from "../selection/trial-statistics.js";
import { FEATURE_COLUMNS, type FeatureMeasure, type FeaturesOf } from "./chosen-features.js";
import type { TextTable } from "./text-table.js";
import type { StudiedSetting, WeightStudy } from "./weight-study.js";

/** The penalty acts on the size of the features and aims at their rank, as in the paper's Figure 4. */
const MEASURED: readonly (readonly [FeatureMeasure, FeaturesOf])[] = [
  ["frobeniusNorm", "training domains"],
  ["stableRank", "held-out domain"],
  ["centredStableRank", "held-out domain"],
  ["effectiveRank", "held-out domain"],
];

const NONE = "–";

/** Creates the table of a study. */
export function weightTable(study: WeightStudy): TextTable {
  const { baseline, kinds, domains, plain, notes } = study;
  const all = kinds.flatMap(({ settings }) => settings);
  const scaled = all.some(({ perSample }) => perSample !== null);
  const ranged = all.some(({ difference }) => difference?.interval);
  const measured = MEASURED.filter(([name, of]) => all.some(({ features }) => features[of][name] !== null));
  const differenceHeads = [...(baseline ? [`− ${plain}`] : []), ...(ranged ? ["95% interval", "p, Holm"] : [])];
  const corrected = new Map([...correctedOf(all), ...correctedOf(all.map(({ late }) => late))]);
  const differenceTexts = (of: Compared): string[] => [
    ...(baseline ? [differenceText(of)] : []),
    ...(ranged ? [intervalPoints(of.difference?.interval ?? null), testText(of, corrected.get(of) ?? null)] : []),
  ];
  const row = (kind: string, setting: StudiedSetting): string[] => [
    kind,
    String(setting.weight),
    ...(scaled ? [setting.perSample === null ? NONE : String(setting.perSample)] : []),
    ...setting.accuracies.map(percent),
    percent(setting.accuracy),
    ...differenceTexts(setting),
    percent(setting.late.accuracy),
    ...differenceTexts(setting.late),
    ...measured.map(([name, of]) => threeDigits(setting.features[of][name])),
    setting.step.toFixed(0),
  ];
  return {
    title: `Weights: ${study.title}`,
    words: wordsOf(study, { scaled, measured: measured.length > 0 }),
    head: [
      "penalty",
      "weight",
      ...(scaled ? ["λ per sample"] : []),
      ...domains,
      "mean",
      ...differenceHeads,
      "late",
      ...differenceHeads,
      ...measured.map(([name]) => FEATURE_COLUMNS[name]),
      "step",
    ],
    rows: [
      ...(baseline ? [row(`none (${plain})`, baseline)] : []),
      ...kinds.flatMap(({ title, settings }) => settings.map((setting) => row(title, setting))),
    ],
    notes,
  };
}

function wordsOf(
  { trials, rows, baseline, plain, searched }: WeightStudy,
  { scaled, measured }: { scaled: boolean; measured: boolean },
): string[] {
  const which = `${trials.length === 1 ? "trial" : "trials"} ${trials.join(", ")}`;
  const words = [
    `Every weight has its own row; there is no selection among them. Accuracy in percent on each held-out domain and their mean, over ${which}, which all rows have. step: the mean of the selected steps. Late: the mean over the evaluations of the second half of training, ${searched ? "so the step is not selected, but validation chose the other hyperparameters" : "without selection"}; on held-out domains the accuracy varies by points from step to step, so this number is more stable.`,
  ];
  if (baseline)
    words.push(
      `− ${plain}: the mean of the paired differences in points (same trial, split and held-out domain)${trials.length > 1 ? "; interval: Student's t over the trials' means, which applies to new trials on these pictures and domains. p: two-sided p-value of the same t test; Holm: corrected for the number of rows. The interval is not corrected" : "; an interval needs two trials"}.`,
    );
  if (scaled)
    words.push(
      `λ per sample: of (λ/n)·‖F‖${rows === null ? "" : `; with scaling=sum the loss has weight·‖F‖, so λ is n = ${rows} times the weight`}.`,
    );
  if (measured)
    words.push(
      "Features at the selected step: ‖F‖_F of up to 96 validation pictures of the training domains, which penalties shrink; ranks for as many pictures of the held-out domain, as in the paper's Figure 4.",
    );
  return words;
}

const percent = (value: number): string => oneDecimal(100 * value);

type Compared = Pick<StudiedSetting, "difference">;

const differenceText = ({ difference }: Compared): string => (difference ? signedPoints(difference.mean) : NONE);

/** The p-values of a column of differences, corrected by Holm's method. */
function correctedOf(column: readonly Compared[]): [Compared, number | null][] {
  const tested = column.flatMap((of) => (of.difference ? [{ of, difference: of.difference }] : []));
  const rows = tested.map(({ difference }) => difference);
  const corrected = holmOfRows(
    rows,
    rows.map(({ p }) => p),
  );
  return tested.map(({ of }, i) => [of, corrected[i]]);
}

/** `0.031, 0.19`. */
const testText = ({ difference }: Compared, corrected: number | null): string =>
  !difference || difference.p === null ? NONE : `${pText(difference.p)}, ${pText(corrected)}`;

/** Three digits, or all before the point: `1.43`, `48.8`, `904`. */
export function threeDigits(value: number | null): string {
  if (value === null) return NONE;
  return value >= 100 ? value.toFixed(0) : value.toPrecision(3);
}
