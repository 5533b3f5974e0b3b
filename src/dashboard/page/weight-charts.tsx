/** The λ figure, after the paper's Figure 4: held-out accuracy and rank of the features against the penalty's weight. */

import type { JSX } from "preact";
import type { WeightData, WeightPoint } from "../api.js";
import { short } from "../format.js";
import { Chart, type ChartSeries } from "./chart.js";

const axes = { xLabel: "λ, logarithmic", logX: true, marked: true } as const;
const percentText = (value: number): string => value.toFixed(1);

export function WeightCharts(study: WeightData): JSX.Element {
  const accuracy = lines(study, "accuracy", (point) => point.accuracy, 0);
  const rank = [
    ...lines(study, "as in the paper", ({ stableRank }) => stableRank, 1),
    ...lines(study, "centred", ({ centredStableRank }) => centredStableRank, 2),
  ];
  return (
    <section>
      <h2>{`The weight λ: ${study.title}`}</h2>
      <div class="charts">
        <Chart {...axes} title="Held-out accuracy" yLabel="%" format={percentText} series={accuracy} />
        {study.points.some(({ stableRank }) => stableRank !== null) && (
          <Chart {...axes} title="Stable rank of the features" yLabel="" format={short} series={rank} />
        )}
      </div>
    </section>
  );
}

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
