/**
 * The figures of a run, from its records: losses, accuracy by domain, and the spectrum and ranks of the features over
 * time.
 */

import { lineChart, type Series } from "../drawing/plot.js";
import { paletteColor } from "../drawing/svg.js";
import { ACCURACY, CURRENT, type RunRecord } from "../records/record.js";
import type { RunSettings } from "../records/run.js";
import { SPECTRUM_PLACES, singularValueMetric } from "./feature-measures.js";

export interface Figure {
  /** The file name without its extension. */
  readonly name: string;
  readonly svg: string;
}

/**
 * Returns the figures that the records have data for. A run with one evaluation, such as an exact probe, has no curves.
 */
export function runFigures(
  records: readonly RunRecord[],
  {
    dataset,
    testDomains,
    algorithm,
    regularizers,
  }: Pick<RunSettings, "dataset" | "testDomains" | "algorithm" | "regularizers">,
): Figure[] {
  const method = [algorithm, ...regularizers.map(({ id }) => id)].join(" + ");
  const about = `${dataset}, ${method}, held out: ${testDomains.join(", ") || "none"}`;
  const finite = records.filter(({ value }) => Number.isFinite(value));
  const charts = [
    { name: "loss", title: "Loss", yLabel: "cross-entropy", series: lossSeries(finite, testDomains) },
    { name: "accuracy", title: "Accuracy", yLabel: "accuracy, %", series: accuracySeries(finite, testDomains) },
    {
      name: "spectrum",
      title: "Spectrum of features",
      yLabel: "singular value",
      logY: true,
      series: spectrumSeries(finite, testDomains),
    },
    { name: "ranks", title: "Ranks of features", yLabel: "rank", logY: true, series: rankSeries(finite, testDomains) },
  ];
  return charts
    .map(({ series, ...chart }) => ({ ...chart, series: series.filter(({ points }) => points.length > 0) }))
    .filter(({ series }) => new Set(series.flatMap(({ points }) => points.map(({ x }) => x))).size > 1)
    .map(({ name, title, ...chart }) => ({
      name,
      svg: lineChart({ ...chart, title: `${title}: ${about}`, xLabel: "step", width: 860, height: 420 }),
    }));
}

function seriesOf(
  records: readonly RunRecord[],
  label: string,
  fits: Partial<RunRecord>,
  { scale = 1, ...style }: Partial<Series> & { scale?: number } = {},
): Series {
  const names = Object.keys(fits) as (keyof RunRecord)[];
  const own = records.filter((row) => names.every((name) => row[name] === fits[name]));
  const points = own.map(({ step, value }) => ({ x: step, y: scale * value }));
  return { label, points, marker: points.length < 40, ...style };
}

const domainsIn = (records: readonly RunRecord[]): string[] => [
  ...new Set(records.filter(({ metric }) => metric === ACCURACY).map(({ domain }) => domain ?? "")),
];

function lossSeries(records: readonly RunRecord[], testDomains: readonly string[]): Series[] {
  const training = seriesOf(records, "training, with penalties", { metric: "loss", domain: null, model: CURRENT });
  const domains = domainsIn(records).map((domain) => {
    const test = testDomains.includes(domain);
    const label = `${domain} (${test ? "held out" : "out"})`;
    return seriesOf(
      records,
      label,
      { metric: "loss", domain, split: test ? "in" : "out", model: CURRENT },
      { dash: test },
    );
  });
  return [training, ...domains];
}

function accuracySeries(records: readonly RunRecord[], testDomains: readonly string[]): Series[] {
  const models = [...new Set(records.map(({ model }) => model))];
  return domainsIn(records).flatMap((domain) => {
    const test = testDomains.includes(domain);
    return models.map((model) => {
      const label = `${domain} (${test ? "held out" : "out"})${model === CURRENT ? "" : `, ${model}`}`;
      const fits = { metric: ACCURACY, domain, split: test ? "in" : "out", model } as const;
      return seriesOf(records, label, fits, { scale: 100, dash: test });
    });
  });
}

/** Returns the k-th largest singular values of the features, for a few k. */
function spectrumSeries(records: readonly RunRecord[], testDomains: readonly string[]): Series[] {
  const positive = records.filter(({ value }) => value > 0);
  return [null, ...testDomains].flatMap((domain) =>
    SPECTRUM_PLACES.map((place, i) =>
      seriesOf(
        positive,
        `σ${place}, ${domain ?? "training"}`,
        { metric: singularValueMetric(place), domain },
        { dash: domain !== null, color: paletteColor(i) },
      ),
    ),
  );
}

const RANKS = { stableRank: "stable rank", centredStableRank: "stable rank, centred", effectiveRank: "effective rank" };

function rankSeries(records: readonly RunRecord[], testDomains: readonly string[]): Series[] {
  const positive = records.filter(({ value }) => value > 0); // a logarithmic axis cannot show zero
  return [null, ...testDomains].flatMap((domain) =>
    Object.entries(RANKS).map(([metric, name], i) =>
      seriesOf(
        positive,
        `${name}, ${domain ?? "training"}`,
        { metric, domain },
        { dash: domain !== null, color: paletteColor(i) },
      ),
    ),
  );
}
