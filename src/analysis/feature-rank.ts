/**
 * Figure 4 of the paper (Section 3.3): the rank of the features of held-out domains and the accuracy there, against the
 * weight of the nuclear norm. The paper reports stable ranks of "around 50" (VLCS) to "over 100" (DomainNet) at weight
 * 0, which decrease with the weight. Here the stable rank is computed both as defined in the paper and centered,
 * together with the entropy effective rank, and a text states which of them match the values of the paper.
 */

import { type LineChart, lineChart, panels } from "../drawing/plot.js";
import { UsageError } from "../errors.js";
import { type FeatureMatrix, type RankMeasures, rankMeasures } from "./rank.js";

/** The features of a held-out domain for one weight, and the accuracy on it. */
export interface FeatureRankInput {
  /** λ, or θ: the weight of the nuclear norm in training. */
  weight: number;
  features: FeatureMatrix;
  /** A fraction. */
  accuracy: number;
  /** The source, such as a held-out domain. Inputs with the same label form one curve. */
  label?: string;
}

export interface FeatureRankRow extends RankMeasures {
  label: string;
  weight: number;
  accuracy: number;
}

/** The rank measures in the text and the chart. */
const MEASURES = [
  { key: "stableRank", name: "stable rank, not centred (the paper's definition)" },
  { key: "centredStableRank", name: "stable rank, centred" },
  { key: "effectiveRank", name: "effective rank, not centred" },
  { key: "centredEffectiveRank", name: "effective rank, centred" },
] as const;

export type RankMeasure = (typeof MEASURES)[number]["key"];

/** One measure compared with the values and the trend of the paper. */
export interface RankVerdict {
  measure: RankMeasure;
  name: string;
  least: number;
  most: number;
  /** The rows with a rank of at least 50, as in the paper. */
  reached: { label: string; weight: number; value: number }[];
  /** Whether it never increases with the weight within any label, as in the paper; null with one weight. */
  neverRises: boolean | null;
  words: string;
}

export interface FeatureRankAnalysis {
  rows: FeatureRankRow[];
  verdicts: RankVerdict[];
}

/** The lowest rank in the paper: "around 50" for its simplest dataset. */
export const PAPER_LEVEL = 50;

/** The tolerance between two spectra of the same features. */
const ROUNDING = 1e-9;

/** The rank measures of each input, by label and weight, and their comparison with the paper's figure. */
export function featureRankAnalysis(inputs: readonly FeatureRankInput[]): FeatureRankAnalysis {
  if (inputs.length === 0) throw new UsageError("feature rank: expected the features of at least one run, got none");
  const rows = inputs.map(({ weight, features, accuracy, label = "" }): FeatureRankRow => {
    if (!(weight >= 0)) throw new UsageError(`feature rank: expected a weight from 0, got ${weight}`);
    return { label, weight, accuracy, ...rankMeasures(features) };
  });
  rows.sort((a, b) => (a.label === b.label ? a.weight - b.weight : a.label < b.label ? -1 : 1));
  return { rows, verdicts: MEASURES.map(({ key, name }) => verdict(key, name, rows)) };
}

function verdict(measure: RankMeasure, name: string, rows: readonly FeatureRankRow[]): RankVerdict {
  const values = rows.map((row) => row[measure]);
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const reached = rows
    .filter((row) => row[measure] >= PAPER_LEVEL)
    .map((row) => ({ label: row.label, weight: row.weight, value: row[measure] }));
  const neighbours = rows.slice(1).map((row, i) => [rows[i], row] as const);
  const steps = neighbours.filter(([before, after]) => before.label === after.label && before.weight < after.weight);
  const neverRises =
    steps.length === 0 ? null : steps.every(([before, after]) => after[measure] <= before[measure] * (1 + ROUNDING));
  // The rank is at most the number of rows and columns, which is not a property of the features.
  const bound = Math.max(...rows.map(({ samples, width }) => Math.min(samples, width)));
  const range = number(least) === number(most) ? number(most) : `${number(least)} to ${number(most)}`;
  const level = `the paper's level (${PAPER_LEVEL} to over 100)`;
  const where =
    reached.length === rows.length
      ? `at ${level} everywhere`
      : reached.length > 0
        ? `at ${level} for ${reached.map(place).join(", ")} only`
        : `below ${level} everywhere${bound < PAPER_LEVEL ? `, as it must be with at most ${bound} directions` : ""}`;
  const trend = neverRises === null ? "" : `; it ${neverRises ? "never rises" : "rises somewhere"} as the weight grows`;
  return { measure, name, least, most, reached, neverRises, words: `${name}: ${range}, ${where}${trend}` };
}

const place = ({ label, weight }: { label: string; weight: number }): string =>
  `${label ? `${label} at ` : ""}weight ${weight}`;

const number = (value: number): string => (value < 9.95 ? value.toFixed(1) : value.toFixed(0));

/** Figure 4 as SVG: one panel with the ranks and one with the accuracy for each label, against the weight. */
export function featureRankChart(rows: readonly FeatureRankRow[]): string {
  const labels = [...new Set(rows.map(({ label }) => label))];
  const positive = rows.map(({ weight }) => weight).filter((weight) => weight > 0);
  const logX = positive.length > 0;
  // A logarithmic axis has no zero, so weight 0 is drawn a decade below the smallest weight, and a note says so.
  const zero = logX ? Math.min(...positive) / 10 : 0;
  const note =
    logX && rows.some(({ weight }) => weight === 0) ? `weight 0 is drawn at ${Number(zero.toPrecision(6))}` : undefined;
  const x = (row: FeatureRankRow): number => (row.weight > 0 ? row.weight : zero);
  const shared = { xLabel: "weight of the nuclear norm", logX, note, width: 520, height: 340 };
  const charts = labels.flatMap((label): LineChart[] => {
    const own = rows.filter((row) => row.label === label);
    const title = label || "held-out features";
    const logY = own.every((row) => MEASURES.every(({ key }) => row[key] > 0));
    return [
      {
        ...shared,
        title: `${title}: rank`,
        yLabel: "rank",
        logY,
        series: MEASURES.map(({ key, name }) => ({
          label: name,
          marker: true,
          points: own.map((row) => ({ x: x(row), y: row[key] })),
        })),
      },
      {
        ...shared,
        title: `${title}: accuracy`,
        yLabel: "accuracy, %",
        series: [{ label: "accuracy", marker: true, points: own.map((row) => ({ x: x(row), y: 100 * row.accuracy })) }],
      },
    ];
  });
  return panels(charts.map(lineChart), { columns: 2 });
}
