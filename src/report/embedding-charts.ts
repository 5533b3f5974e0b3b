/**
 * Charts of features: their spectrum, and a map of their two leading principal directions, coloured by domain and by
 * class.
 */

import { evenlyChosen } from "../data/evenly-chosen.js";
import { lineChart, scatterChart } from "../drawing/plot.js";

/** The maximum number of points on a map: more are indistinguishable and make the file too large. */
const MOST_POINTS = 2000;
/** The maximum number of groups on a map: with more, colours repeat. */
const MOST_GROUPS = 14;

/** The singular values of features, uncentred and centred, each as a share of the largest. */
export function spectrumChart(plain: readonly number[], centred: readonly number[], title: string): string {
  const series = [
    { label: "not centred", values: plain },
    { label: "centred (differences between pictures)", values: centred },
  ].map(({ label, values }) => ({
    label,
    // A logarithmic axis has no zero, and values this far below the largest are rounding errors.
    points: values.map((value, i) => ({ x: i + 1, y: value / values[0] })).filter(({ y }) => y > 1e-8),
  }));
  return lineChart({
    title,
    xLabel: "singular value, largest first",
    yLabel: "share of the largest",
    logX: true,
    logY: true,
    series: series.filter(({ points }) => points.length > 0),
    width: 640,
    height: 420,
  });
}

export interface MapChart {
  readonly title: string;
  readonly points: readonly { readonly x: number; readonly y: number }[];
  /** The group of each point. */
  readonly groups: readonly string[];
  /** The share of the variance along each axis. */
  readonly shares: readonly [number, number];
}

/** A map of the features. Groups beyond the fourteen largest are drawn as one. */
export function mapChart({ title, points, groups, shares }: MapChart): string {
  const counts = new Map<string, number>();
  for (const group of groups) counts.set(group, (counts.get(group) ?? 0) + 1);
  const names = [...counts.keys()];
  const largest = [...names].sort((a, b) => counts.get(b)! - counts.get(a)!).slice(0, MOST_GROUPS);
  const others = names.length > MOST_GROUPS ? `${names.length - MOST_GROUPS} others` : undefined;
  const shown = evenlyChosen(Array.from(points.keys()), MOST_POINTS);
  const groupOf = (i: number): string => (largest.includes(groups[i]) ? groups[i] : others!);
  const labels = [...names.filter((name) => largest.includes(name)), ...(others ? [others] : [])];
  const percent = (share: number): string => `${(100 * share).toFixed(1)} % of the variance`;
  return scatterChart({
    title,
    xLabel: `first direction, ${percent(shares[0])}`,
    yLabel: `second, ${percent(shares[1])}`,
    classes: labels.map((label) => ({
      label,
      points: shown.filter((i) => groupOf(i) === label).map((i) => points[i]),
    })),
    width: 720,
    height: 560,
    ...(points.length > MOST_POINTS && { note: `${MOST_POINTS} of ${points.length} pictures, evenly chosen` }),
  });
}
