/** The λ figure, after the paper's Figure 4: held-out accuracy and rank of the features against the penalty's weight. */

import type { WeightData, WeightPoint } from "../api.js";
import { short } from "../format.js";
import { Chart, type ChartSeries } from "./chart.js";
import { h } from "./dom.js";

/** The charts, and the sections they stand in. */
export function weightCharts(studies: readonly WeightData[]): { charts: Chart[]; sections: HTMLElement[] } {
  const charts: Chart[] = [];
  const sections = studies.map((study) => {
    const accuracy = new Chart({
      ...axes,
      title: "Held-out accuracy",
      yLabel: "%",
      format: (value) => value.toFixed(1),
    });
    accuracy.setSeries(lines(study, "accuracy", ({ accuracy: value }) => value, 0));
    const rank = new Chart({ ...axes, title: "Stable rank of the features", yLabel: "", format: short });
    rank.setSeries([
      ...lines(study, "as the paper has it", ({ stableRank }) => stableRank, 1),
      ...lines(study, "centred", ({ centredStableRank }) => centredStableRank, 2),
    ]);
    const drawn = study.points.some(({ stableRank }) => stableRank !== null) ? [accuracy, rank] : [accuracy];
    charts.push(...drawn);
    return h(
      "section",
      {},
      h("h2", {}, `The weight λ: ${study.title}`),
      h("div", { class: "charts" }, ...drawn.map(({ root }) => root)),
    );
  });
  return { charts, sections };
}

const axes = { xLabel: "λ, logarithmic", logX: true, marked: true } as const;

function lines(
  { points, baseline }: WeightData,
  label: string,
  value: (point: WeightPoint) => number | null,
  color: number,
): ChartSeries[] {
  const drawn = points.flatMap((point) => {
    const y = value(point);
    return y === null ? [] : [{ x: point.weight, y }];
  });
  const across = baseline === null ? null : value(baseline);
  if (drawn.length === 0) return [];
  const measured: ChartSeries = { id: label, label, color, points: drawn, strong: true };
  if (across === null) return [measured];
  const ends = [drawn[0].x, drawn[drawn.length - 1].x].map((x) => ({ x, y: across }));
  return [measured, { id: `${label} without`, label: `${label}, no penalty`, color, dash: true, points: ends }];
}
