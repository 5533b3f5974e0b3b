/**
 * The figure of how each searched hyperparameter affects the accuracy of a method on a dataset: one panel each, one
 * point per draw.
 */

import { lineChart, panels, type Series } from "../drawing/plot.js";
import { palette } from "../drawing/svg.js";
import { groupBy } from "../group-by.js";
import { datasetTitle } from "../settings/names.js";
import type { Influence, InfluencePoint } from "./influence.js";

const [BLUE, ORANGE] = palette;

/** Values that span more than this factor are drawn on a logarithmic axis, as they are searched. */
const WIDE = 5;

/** One figure per method and dataset. */
export function influenceFigures(found: readonly Influence[]): { title: string; svg: string }[] {
  const groups = groupBy(found, ({ dataset, method }) => JSON.stringify([dataset, method]));
  return [...groups.values()].flatMap((own) => {
    const drawn = own.filter(({ points }) => points.every(({ value }) => typeof value !== "string"));
    if (drawn.length === 0) return [];
    const title = `${own[0].title} on ${datasetTitle(own[0].dataset)}`;
    const svg = panels(drawn.map(panel), { title: `Influence of hyperparameters: ${title}`, columns: 3 });
    return [{ title, svg }];
  });
}

function panel({ hparam, points, bins }: Influence): string {
  const at = (value: InfluencePoint["value"]): number => Number(value); // false and true are 0 and 1
  const xs = points.map(({ value }) => at(value));
  const [low, high] = [Math.min(...xs), Math.max(...xs)];
  const series = (["validation", "test"] as const).flatMap((of, i): Series[] => {
    const color = [BLUE, ORANGE][i];
    const line = bins.flatMap((bin) => (bin.value === null ? [] : [{ x: bin.value, y: 100 * bin[of] }]));
    return [
      {
        label: of,
        color,
        points: points.map((point) => ({ x: at(point.value), y: 100 * point[of] })),
        line: false,
        shape: i,
      },
      ...(line.length > 1 ? [{ label: `${of}, mean`, color, points: line }] : []),
    ];
  });
  return lineChart({
    ...{ title: hparam, xLabel: hparam, yLabel: "points above the mean of the cell", series, width: 460, height: 340 },
    logX: low > 0 && high / low > WIDE,
  });
}
