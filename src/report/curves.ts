/**
 * Training curves from the records: accuracy over steps, one figure per held-out domain, for the models that selection
 * chose.
 */

import { type LineChart, lineChart, panels, type Series } from "../drawing/plot.js";
import { textWidth } from "../drawing/stroke-font.js";
import { palette, paletteColor } from "../drawing/svg.js";
import { mean } from "../selection/mean.js";
import { datasetTitle } from "../settings/names.js";
import type { Outcome, ReportedMethod } from "./outcome.js";

/** At most as many methods as there are colours share a chart: two lines of one colour would look like one method. */
const MOST_TOGETHER = palette.length;

const [BLUE] = palette;
const GREY = "#9a9a9a";
const COLUMNS = 4;

export interface CurveChart {
  readonly domain: string;
  readonly svg: string;
  /** Whether each method has its own panel. */
  readonly apart: boolean;
}

/** The figures of some methods on a dataset: in one chart if there are few, in one panel each if there are more. */
export function curveCharts(outcome: Outcome, dataset: string, methods: readonly ReportedMethod[]): CurveChart[] {
  return outcome.domainsOf(dataset).flatMap((domain): CurveChart[] => {
    const curves = methods.flatMap((method) => methodCurves(outcome, method, { dataset, domain }) ?? []);
    if (curves.length === 0) return [];
    const count = outcome.rowsOf(dataset).length;
    const part = curves.length < count ? `: ${curves.length} of ${count} methods` : "";
    const title = `${datasetTitle(dataset)}, ${domain} held out${part}`;
    const apart = curves.length > MOST_TOGETHER;
    return [{ domain, svg: apart ? multiples(title, curves) : together(title, curves), apart }];
  });
}

/** What is drawn, and for which methods. */
export function curveWords({ methods }: Outcome, drawn: readonly ReportedMethod[]): string {
  const which =
    drawn.length === methods.length
      ? `The figure shows all ${methods.length} methods`
      : `The figure shows ${drawn.map(({ title }) => title).join(", ")}, out of ${methods.length} methods`;
  return (
    "Solid lines: the `in` split of the held-out domain; dashed: the mean of the validation splits of the training domains. Points are means over trials; " +
    `bands and bars show the range from the lowest to the highest trial. ${which}; \`--curves\` selects them. With more than ${MOST_TOGETHER} methods, each has its own panel.`
  );
}

/** The accuracies of a method on its held-out domain and, as a mean, on the training domains. */
interface MethodCurves {
  readonly title: string;
  readonly heldOut: Series["points"];
  readonly training: Series["points"];
}

const AXES = { xLabel: "step", yLabel: "accuracy (%)" };

function together(title: string, curves: readonly MethodCurves[]): string {
  const series = curves.flatMap(({ title: label, heldOut, training }, i): Series[] => [
    { label, color: paletteColor(i), points: heldOut },
    { label: `${label}, training domains`, color: paletteColor(i), dash: true, points: training },
  ]);
  return lineChart({ ...AXES, title, series, width: 620, height: 360 });
}

/** One panel per method on shared axes, with the line of the first method in grey for comparison. */
function multiples(title: string, curves: readonly MethodCurves[]): string {
  const [first] = curves;
  const points = curves.flatMap(({ heldOut, training }) => [...heldOut, ...training]);
  const axes: Pick<LineChart, "xMin" | "xMax" | "yMin" | "yMax"> = {
    ...rangeOf(
      "x",
      points.map(({ x }) => x),
    ),
    ...rangeOf(
      "y",
      points.flatMap(({ y, lo = y, hi = y }) => [lo, hi]),
    ),
  };
  const width = Math.max(300, ...curves.map((each) => textWidth(each.title, 14, true) + 24));
  const charts = curves.map((each) =>
    lineChart({
      ...{ ...AXES, ...axes, title: each.title, width, height: 240, legend: false },
      series: [
        ...(each === first
          ? []
          : [{ label: first.title, color: GREY, points: first.heldOut.map(({ x, y }) => ({ x, y })) }]),
        { label: "held out", color: BLUE, shape: 0, points: each.heldOut },
        { label: "training domains", color: BLUE, dash: true, shape: 1, points: each.training },
      ],
    }),
  );
  return panels(charts, { columns: COLUMNS, title: `${title} (dashed: training domains; grey: ${first.title})` });
}

/** The limits of an axis with a margin. */
function rangeOf(axis: "x" | "y", values: readonly number[]): Record<string, number> {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const room = 0.04 * (high - low) || 1;
  return { [`${axis}Min`]: low - room, [`${axis}Max`]: high + room };
}

function methodCurves(
  outcome: Outcome,
  { key, title }: ReportedMethod,
  { dataset, domain }: { dataset: string; domain: string },
): MethodCurves | null {
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
  if (heldOut.size === 0) return null;
  return { title, heldOut: points(heldOut), training: points(training).map(({ x, y }) => ({ x, y })) };
}

function points(byStep: ReadonlyMap<number, readonly number[]>): Series["points"] {
  return [...byStep]
    .sort(([a], [b]) => a - b)
    .map(([x, values]) => {
      const range = values.length > 1 ? { lo: Math.min(...values), hi: Math.max(...values) } : {};
      return { x, y: mean(values), ...range };
    });
}
