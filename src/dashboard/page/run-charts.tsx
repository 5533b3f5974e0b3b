/** The charts of a run: accuracy and loss by domain and split, ranks and norms of the features, and other logged values. */

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { CurveData, RunCurves, RunRow } from "../api.js";
import { metricTitle, normMetrics, pointsOf, rankMetrics } from "../curve-points.js";
import { featureWords } from "../feature-words.js";
import { short } from "../format.js";
import { Chart, type ChartSeries } from "./chart.js";
import { Empty, Problem, Segmented } from "./view.js";

/** The splits that are drawn. `reported`: those that tables and model selection use. */
type Parts = "reported" | "in" | "out" | "both";

const parts: readonly { id: Parts; label: string; title: string }[] = [
  {
    id: "reported",
    label: "as reported",
    title: "out of the training domains, which model selection uses, and in of the held-out domains",
  },
  { id: "out", label: "out", title: "the smaller (validation) split of every domain" },
  { id: "in", label: "in", title: "the larger split of every domain, used for training in training domains" },
  { id: "both", label: "both", title: "both splits of every domain" },
];

const COLORS = 8;
const percentText = (value: number): string => value.toFixed(1);

/** The content of a chart. Charts without points are not drawn. */
interface Drawn {
  readonly title: string;
  readonly yLabel?: string;
  readonly logY?: boolean;
  readonly format?: (value: number) => string;
  readonly series: readonly ChartSeries[];
}

const Charts = ({ charts }: { charts: readonly Drawn[] }): JSX.Element => (
  <div class="charts">
    {charts.map(({ series, ...options }) => {
      const drawn = series.filter(({ points }) => points.length > 0);
      if (drawn.length === 0) return null;
      if (drawn.every(({ points }) => points.length === 1))
        return <Numbers key={options.title} format={short} {...options} series={drawn} />;
      return <Chart key={options.title} xLabel="step" yLabel="" format={short} {...options} series={drawn} />;
    })}
  </div>
);

/** The values of lines that have one point each, which a chart would not show better. */
const Numbers = ({
  title,
  yLabel,
  logY,
  format,
  series,
}: Drawn & { format: (value: number) => string }): JSX.Element => (
  <figure class="chart">
    <figcaption>
      <h3>{title}</h3>
      <span class="unit">{logY ? "" : yLabel}</span>
    </figcaption>
    <table class="plain">
      <tbody>
        {series.map(({ id, label, strong, points: [{ x, y }] }) => (
          <tr key={id} class={strong ? "strong" : undefined}>
            <th scope="row">{label}</th>
            <td class="number">{format(y)}</td>
            <td class="soft">{`step ${x.toLocaleString("en-US")}`}</td>
          </tr>
        ))}
      </tbody>
    </table>
  </figure>
);

const find = ({ curves }: RunCurves, metric: string): CurveData[] => curves.filter((curve) => curve.metric === metric);

function isWanted(wanted: Parts, { heldOut }: RunRow, { domain, split }: CurveData): boolean {
  if (domain === null) return false;
  if (wanted === "both") return true;
  return split === (wanted !== "reported" ? wanted : heldOut.includes(domain) ? "in" : "out");
}

/** Accuracy, losses, and values that the algorithm logged. */
export function CurveCharts({ row, data }: { row: RunRow; data: RunCurves }): JSX.Element {
  const [wanted, setWanted] = useState<Parts>("reported");
  const domains = [...new Set(data.curves.flatMap(({ domain }) => domain ?? []))];
  const byDomain = (metric: string, scale: number): ChartSeries[] =>
    find(data, metric)
      .filter((curve) => isWanted(wanted, row, curve))
      .map((curve): ChartSeries => {
        const held = row.heldOut.includes(curve.domain!);
        const model = curve.model === "current" ? "" : `, ${curve.model}`;
        return {
          id: JSON.stringify([curve.model, curve.domain, curve.split]),
          label: `${curve.domain}, ${held ? `held out${curve.split === "in" ? "" : " (out)"}` : curve.split}${model}`,
          color: domains.indexOf(curve.domain!) % COLORS,
          dash: curve.model !== "current" || (wanted === "both" && curve.split === "in"),
          strong: held,
          points: pointsOf(curve, scale),
        };
      });
  const training = find(data, "loss")
    .filter(({ domain }) => domain === null)
    .map((curve) => ({
      ...{ id: `training ${curve.model}`, label: "training batches, with penalties", color: 7 },
      points: pointsOf(curve),
    }));
  const known: readonly string[] = ["accuracy", "loss", ...rankMetrics, ...normMetrics];
  const metrics = [...new Set(data.curves.map(({ metric }) => metric))].filter(
    (metric) => !known.includes(metric) && !/^singularValue\d+$/.test(metric), // shown under Features
  );
  const others = metrics.map((metric) => ({
    title: metricTitle(metric),
    series: find(data, metric).map((curve, i) => {
      const { model, domain, split } = curve;
      return {
        id: JSON.stringify([model, domain, split]),
        label: [domain, split, model === "current" ? null : model].filter(Boolean).join(", ") || "training",
        color: i % COLORS,
        points: pointsOf(curve),
      };
    }),
  }));
  return (
    <>
      <div class="bar">
        <Segmented label="Splits" options={parts} chosen={wanted} choose={(id) => setWanted(id)} />
      </div>
      {data.notes.map((note) => (
        <Problem key={note} text={note} />
      ))}
      {data.curves.length === 0 && data.notes.length === 0 && <p class="soft">There is no evaluation yet.</p>}
      <Charts
        charts={[
          { title: "Accuracy", yLabel: "%", format: percentText, series: byDomain("accuracy", 100) },
          { title: "Loss", yLabel: "cross-entropy", series: [...training, ...byDomain("loss", 1)] },
          ...others,
        ]}
      />
    </>
  );
}

/** What is measured of the features: title, metrics with their names, and whether the scale is logarithmic. */
const measures: readonly (readonly [title: string, metrics: readonly (readonly [string, string])[], log?: boolean])[] =
  [
    [
      "Spectrum: the k-th largest singular values",
      [1, 2, 4, 8, 16, 32, 64].map((place) => [`singularValue${place}`, `σ${place}`] as const),
      true,
    ],
    [
      "Stable rank",
      [
        ["stableRank", "as in the paper"],
        ["centredStableRank", "centred"],
      ],
    ],
    [
      "Effective rank (entropy of the spectrum)",
      [
        ["effectiveRank", "uncentred"],
        ["centredEffectiveRank", "centred"],
      ],
    ],
    [
      "Norms of the features and of the classifier",
      [
        ["nuclearNorm", "‖F‖∗"],
        ["frobeniusNorm", "‖F‖"],
        ["headNorm", "head"],
      ],
      true,
    ],
    ["‖F‖∗ / ‖F‖: a measure of the number of directions in the features", [["normRatio", "ratio"]]],
  ];

/** Spectrum, ranks and norms over time. */
export function FeatureCharts({ data }: { data: RunCurves }): JSX.Element {
  const charts = measures.map(([title, metrics, logY = false]) => ({
    ...{ title, yLabel: logY ? "logarithmic" : "", logY },
    series: metrics.flatMap(([metric, name], color) =>
      find(data, metric).map((curve) => ({
        id: JSON.stringify([metric, curve.domain]),
        label: `${name}, ${curve.domain ?? "training"}`,
        color,
        dash: curve.domain !== null,
        points: pointsOf(curve),
      })),
    ),
  }));
  return (
    <>
      <p class="soft words">{featureWords(charts.flatMap(({ series }) => series))}</p>
      <Charts charts={charts} />
      {charts.every(({ series }) => series.length === 0) && (
        <Empty title="No measures of features" words="They are recorded at each evaluation." />
      )}
    </>
  );
}
