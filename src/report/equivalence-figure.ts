/**
 * A forest plot of tested differences in the second half of training: by dataset, one row per comparison, with the 95 %
 * interval of superiority, the 90 % interval of equivalence, and the margin as a grey band.
 */

import { palette } from "../drawing/svg.js";
import { datasetTitle } from "../settings/names.js";
import { type DifferenceRow, drawDifferences } from "./difference-chart.js";
import type { Equivalences, TestedEquivalence } from "./equivalence.js";

const [BLUE, ORANGE, GREEN] = palette;
const GREY = "#666666";

/** Draws the tests; null if no run was evaluated often enough. */
export function equivalenceFigure({ margin, rows }: Pick<Equivalences, "margin" | "rows">): string | null {
  const late = rows.filter(({ outcome, mean }) => outcome === "second half of training" && Number.isFinite(mean));
  const datasets = [...new Set(late.flatMap(({ dataset }) => dataset ?? []))];
  if (datasets.length === 0) return null;
  const groups = datasets.map((dataset) => late.filter((row) => row.dataset === dataset));
  const heading = (dataset: string): DifferenceRow[] =>
    datasets.length > 1 ? [{ title: datasetTitle(dataset), bold: true, marks: [] }] : [];
  const shown = groups.flat().map(colorOf);
  return drawDifferences({
    heading: "Second half of training, points of accuracy",
    rows: datasets.flatMap((dataset, i) => [...heading(dataset), ...groups[i].map((row) => rowOf(row, groups[i]))]),
    band: [-margin, margin],
    words: [`thin: 95% interval; thick: 90% interval; grey: ±${Number((100 * margin).toPrecision(6))} points`],
    legend: LEGEND.filter(({ color }) => shown.includes(color)),
  });
}

const LEGEND = [
  { label: "superior", color: BLUE },
  { label: "inferior", color: ORANGE },
  { label: "equivalent", color: GREEN },
  { label: "undecided", color: GREY },
];

/** The colour of a verdict. A difference that is superior and within the margin has that of superior. */
const colorOf = ({ verdict }: TestedEquivalence): string =>
  LEGEND.find(({ label }) => verdict?.startsWith(label))?.color ?? GREY;

function rowOf(row: TestedEquivalence, group: readonly TestedEquivalence[]): DifferenceRow {
  const bare = group.filter((other) => nameOf(other) === nameOf(row)).length === 1;
  const { mean, interval: inner, superiority } = row;
  const mark = { mean, interval: superiority.interval, inner, color: colorOf(row) };
  return { title: bare ? nameOf(row) : `${row.first} − ${row.second}`, bold: false, marks: [mark] };
}

/** Without the settings in brackets, which are needed only if two rows have the same methods. */
const nameOf = ({ first, second }: TestedEquivalence): string =>
  [first, second].map((title) => title.replace(/ \[.*\]$/, "")).join(" − ");
