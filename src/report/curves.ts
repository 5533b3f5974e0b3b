/** Training curves from the records: accuracy over steps, a chart for each held-out domain, for the models selection chose. */

import { lineChart, type Series } from "../drawing/plot.js";
import { palette, paletteColor } from "../drawing/svg.js";
import { mean } from "../selection/mean.js";
import { datasetTitle } from "../settings/names.js";
import type { Outcome, ReportedMethod } from "./outcome.js";

/** As many methods as there are colours; two lines of one colour would be read as one method. */
export const MOST_METHODS: number = palette.length;

/** The charts of a dataset: the held-out domain as a line, the training domains' mean dashed; ranges are over trials. */
export function curveCharts(outcome: Outcome, dataset: string): { domain: string; svg: string }[] {
  return outcome.domainsOf(dataset).flatMap((domain) => {
    const series = outcome.methods
      .slice(0, MOST_METHODS)
      .flatMap((method, i) => methodSeries(outcome, method, { dataset, domain, color: paletteColor(i) }));
    if (series.length === 0) return [];
    const title = `${datasetTitle(dataset)}, ${domain} held out`;
    const svg = lineChart({ title, xLabel: "step", yLabel: "accuracy (%)", series, width: 620, height: 360 });
    return [{ domain, svg }];
  });
}

function methodSeries(
  outcome: Outcome,
  { key, title }: ReportedMethod,
  { dataset, domain, color }: { dataset: string; domain: string; color: string },
): Series[] {
  const [heldOut, training] = [new Map<number, number[]>(), new Map<number, number[]>()];
  const add = (to: Map<number, number[]>, step: number, value: number): void => {
    if (Number.isFinite(value)) to.set(step, [...(to.get(step) ?? []), 100 * value]);
  };
  for (const { choice } of outcome.resultsOf(key, dataset, domain)) {
    const others = choice.run.domains.filter((each) => !choice.run.testDomains.includes(each));
    for (const { step, accuracy } of choice.run.evaluations) {
      add(heldOut, step, accuracy.get(domain)!.in!);
      add(training, step, mean(others.map((each) => accuracy.get(each)!.out!)));
    }
  }
  if (heldOut.size === 0) return [];
  return [
    { label: title, color, points: points(heldOut) },
    { label: `${title}, training domains`, color, dash: true, points: points(training).map(({ x, y }) => ({ x, y })) },
  ];
}

function points(byStep: ReadonlyMap<number, readonly number[]>): Series["points"] {
  return [...byStep]
    .sort(([a], [b]) => a - b)
    .map(([x, values]) => {
      const range = values.length > 1 ? { lo: Math.min(...values), hi: Math.max(...values) } : {};
      return { x, y: mean(values), ...range };
    });
}
