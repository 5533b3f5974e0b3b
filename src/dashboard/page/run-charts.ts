/** The charts of one run: accuracy and loss by domain and part, the ranks and norms of its features, and what else it logged. */

import type { CurveData, RunCurves, RunRow } from "../api.js";
import { metricTitle, normMetrics, pointsOf, rankMetrics } from "../curve-points.js";
import { short } from "../format.js";
import { Chart, type ChartOptions, type ChartSeries } from "./chart.js";
import { h } from "./dom.js";
import { emptyState, problem, segmented } from "./view.js";

/** Which parts of domains are drawn. `reported`: what tables and selection read. */
type Parts = "reported" | "in" | "out" | "both";

const parts: readonly { id: Parts; label: string; title: string }[] = [
  {
    id: "reported",
    label: "as reported",
    title: "out of the training domains, which selection reads, and in of those held out",
  },
  { id: "out", label: "out", title: "the held-back part of every domain" },
  { id: "in", label: "in", title: "the larger part of every domain, which training ones are trained on" },
  { id: "both", label: "both", title: "both parts of every domain" },
];

const COLORS = 8;
const percentText = (value: number): string => value.toFixed(1);

/** Charts that are made once and given new points as the run goes on. */
abstract class ChartGroup {
  readonly root = h("div", {});
  protected readonly grid = h("div", { class: "charts" });
  private readonly charts = new Map<string, Chart>();

  abstract show(row: RunRow, data: RunCurves): void;

  close(): void {
    for (const chart of this.charts.values()) chart.close();
  }

  protected chart(key: string, options: ChartOptions, series: readonly ChartSeries[]): void {
    let chart = this.charts.get(key);
    const drawn = series.filter(({ points }) => points.length > 0);
    if (!chart && drawn.length === 0) return;
    if (!chart) {
      chart = new Chart(options);
      this.charts.set(key, chart);
      this.grid.append(chart.root);
    }
    chart.setSeries(drawn);
  }
}

const find = ({ curves }: RunCurves, metric: string): CurveData[] => curves.filter((curve) => curve.metric === metric);

/** Accuracy, losses, and what the algorithm logged. */
export class CurveCharts extends ChartGroup {
  private parts: Parts = "reported";
  private readonly notes = h("div", {});
  private last: [RunRow, RunCurves] | undefined;

  constructor() {
    super();
    const choose = segmented("Parts", parts, this.parts, (id) => {
      this.parts = id;
      if (this.last) this.show(...this.last);
    });
    this.root.append(h("div", { class: "bar" }, choose), this.notes, this.grid);
  }

  show(row: RunRow, data: RunCurves): void {
    this.last = [row, data];
    this.notes.replaceChildren(...data.notes.map(problem));
    if (data.curves.length === 0 && data.notes.length === 0)
      this.notes.replaceChildren(h("p", { class: "soft" }, "Nothing was evaluated yet."));
    const domains = [...new Set(data.curves.flatMap(({ domain }) => domain ?? []))];
    const byDomain = (metric: string, scale: number): ChartSeries[] =>
      find(data, metric)
        .filter(({ domain, split }) => domain !== null && this.isWanted(row, domain, split))
        .map((curve): ChartSeries => {
          const held = row.heldOut.includes(curve.domain!);
          const model = curve.model === "current" ? "" : `, ${curve.model}`;
          return {
            id: JSON.stringify([curve.model, curve.domain, curve.split]),
            label: `${curve.domain}, ${held ? `held out${curve.split === "in" ? "" : " (out)"}` : curve.split}${model}`,
            color: domains.indexOf(curve.domain!) % COLORS,
            dash: curve.model !== "current" || (this.parts === "both" && curve.split === "in"),
            strong: held,
            points: pointsOf(curve, scale),
          };
        });
    const x = { xLabel: "step" };
    this.chart("accuracy", { ...x, title: "Accuracy", yLabel: "%", format: percentText }, byDomain("accuracy", 100));
    const training = find(data, "loss").filter(({ domain }) => domain === null);
    this.chart("loss", { ...x, title: "Loss", yLabel: "cross-entropy", format: short }, [
      ...training.map((curve) => ({
        ...{
          id: `training ${curve.model}`,
          label: "training batches, with penalties",
          color: 7,
          points: pointsOf(curve),
        },
      })),
      ...byDomain("loss", 1),
    ]);
    const known: readonly string[] = ["accuracy", "loss", ...rankMetrics, ...normMetrics];
    for (const metric of new Set(data.curves.map((curve) => curve.metric)))
      if (!known.includes(metric))
        this.chart(
          metric,
          { ...x, title: metricTitle(metric), yLabel: "", format: short },
          find(data, metric).map((curve, i) => ({
            id: JSON.stringify([curve.model, curve.domain, curve.split]),
            label:
              [curve.domain, curve.split, curve.model === "current" ? null : curve.model].filter(Boolean).join(", ") ||
              "training",
            color: i % COLORS,
            points: pointsOf(curve),
          })),
        );
  }

  private isWanted({ heldOut }: RunRow, domain: string, split: string | null): boolean {
    if (this.parts === "both") return true;
    if (this.parts !== "reported") return split === this.parts;
    return split === (heldOut.includes(domain) ? "in" : "out");
  }
}

/** Spectrum, ranks and norms over time. */
export class FeatureCharts extends ChartGroup {
  private readonly empty = emptyState("No measures of features", h("p", {}, "They come with the first evaluation."));

  constructor() {
    super();
    const about =
      "Taken at each evaluation of the same held-back pictures: of the training domains together, and of each held-out domain (dashed). " +
      "Scale is not rank: smaller features with a larger head lower the nuclear norm and leave every rank as it was.";
    this.root.append(h("p", { class: "soft words" }, about), this.grid, this.empty);
  }

  show(_row: RunRow, data: RunCurves): void {
    const series = (metric: string, color: number, name: string): ChartSeries[] =>
      find(data, metric).map((curve) => ({
        id: JSON.stringify([metric, curve.domain]),
        label: `${name}, ${curve.domain ?? "training"}`,
        color,
        dash: curve.domain !== null,
        points: pointsOf(curve),
      }));
    const x = { xLabel: "step", format: short };
    const one = (key: string, title: string, metrics: readonly (readonly [string, string])[], log = false): void =>
      this.chart(
        key,
        { ...x, title, yLabel: log ? "logarithmic" : "", logY: log },
        metrics.flatMap(([metric, name], i) => series(metric, i, name)),
      );
    one(
      "spectrum",
      "Spectrum: the k-th largest singular values",
      [1, 2, 4, 8, 16, 32, 64].map((place) => [`singularValue${place}`, `σ${place}`] as const),
      true,
    );
    one("stable", "Stable rank", [
      ["stableRank", "as the paper has it"],
      ["centredStableRank", "centred"],
    ]);
    one("effective", "Effective rank (entropy of the spectrum)", [
      ["effectiveRank", "uncentred"],
      ["centredEffectiveRank", "centred"],
    ]);
    one(
      "norms",
      "Norms of the features and of the head",
      [
        ["nuclearNorm", "‖F‖∗"],
        ["frobeniusNorm", "‖F‖"],
        ["headNorm", "head"],
      ],
      true,
    );
    one("ratio", "‖F‖∗ / ‖F‖: how many directions carry the features", [["normRatio", "ratio"]]);
    this.empty.hidden = this.grid.childElementCount > 0;
  }
}
