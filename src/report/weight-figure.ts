/**
 * The figure of a penalty's weight, like the paper's Figure 4: accuracy on the held-out domains and the ranks of their
 * features against λ, with all scalings on one axis; and next to it every kind of penalty by the size of the features
 * it led to. At features of equal size, differences between kinds are not due to scale.
 */

import { type LineChart, lineChart, panels, type Series } from "../drawing/plot.js";
import { palette, paletteColor } from "../drawing/svg.js";
import type { FeatureMeasure } from "./chosen-features.js";
import type { StudiedKind, StudiedSetting, WeightStudy } from "./weight-study.js";

const [BLUE, ORANGE, GREEN] = palette;
const PANEL = { width: 560, height: 380 };

/**
 * This far below the method without a penalty, training has failed; drawn with the others, such points would flatten
 * them.
 */
const BROKEN = 0.1;

/** A study as SVG: panels for what its runs recorded. */
export function weightFigure(study: WeightStudy): string {
  const lead = study.kinds[0].penalty; // that of the paper, if there are runs of it
  const kinds = study.kinds.filter(({ penalty }) => penalty === lead);
  const charts = [
    accuracyChart(study, kinds),
    ...rankChart(study, kinds, {
      title: "Held-out features: stable rank",
      yLabel: "stable rank",
      measures: [
        ["stableRank", "stable", ORANGE],
        ["centredStableRank", "centred", GREEN],
      ],
    }),
    ...rankChart(study, kinds, {
      title: "Held-out features: effective rank",
      yLabel: "effective rank",
      measures: [["effectiveRank", "effective", ORANGE]],
    }),
    ...sizeChart(study),
  ];
  return panels(charts, { title: `The penalty's weight: ${study.title}`, columns: 2 });
}

type Value = (setting: StudiedSetting) => number | null;

/** A position on the axis of weights that kinds with different scalings share. */
const placeOf = ({ perSample, weight }: StudiedSetting): number => perSample ?? weight;

/**
 * If the validation accuracy never recovered to its value before the penalty became active, the selected model is not
 * that of the penalty.
 */
const isUnpenalised = ({ unpenalised }: StudiedSetting): boolean => unpenalised > 0;

function weightAxis({ rows }: WeightStudy, kinds: readonly StudiedKind[]): Pick<LineChart, "xLabel" | "logX" | "note"> {
  const settings = kinds.flatMap((kind) => kind.settings);
  const isScaled = settings.every(({ perSample }) => perSample !== null);
  const symbol = isScaled ? "λ" : "weight";
  const left = settings.filter(isUnpenalised).map(placeOf);
  const notes = [
    ...(isScaled && rows !== null ? [`scaling=sum: weight·‖F‖ is drawn at λ = ${rows}·weight`] : []),
    ...(left.length > 0 ? [`not drawn: ${symbol} = ${left.join(", ")}, where training broke`] : []),
  ];
  const name = nameOf(kinds[0]);
  const xLabel = isScaled ? `${name}: λ of (λ/n)·‖F‖` : `weight of ${name}`;
  return { xLabel, logX: true, ...(notes.length > 0 && { note: notes.join("; ") }) };
}

const nameOf = ({ penalty, title }: StudiedKind): string => (title.startsWith(penalty) ? penalty : title);

/** What distinguishes a kind from the others of its penalty: `scaling=sum`, or the name of the penalty. */
const ownWords = (kind: StudiedKind): string => kind.title.slice(nameOf(kind).length + 1) || nameOf(kind);

/** One line and one marker shape per kind, and a dashed line for the method without a penalty. */
function linesOf(
  { baseline, plain }: WeightStudy,
  kinds: readonly StudiedKind[],
  { label, color, value }: { label: (kind: string) => string; color: string; value: Value },
  bar: (setting: StudiedSetting) => { lo: number; hi: number } | object = () => ({}),
): Series[] {
  const places = kinds.flatMap(({ settings }) => settings.map(placeOf));
  const lines = kinds.map((kind, shape): Series => {
    const points = kind.settings.flatMap((setting) => {
      const y = value(setting);
      return y === null || isUnpenalised(setting) ? [] : [{ x: placeOf(setting), y, ...bar(setting) }];
    });
    return { label: label(ownWords(kind)), color, marker: true, shape, points };
  });
  const drawn = lines.filter(({ points }) => points.length > 0);
  const across = baseline && value(baseline);
  if (drawn.length === 0 || across === null) return drawn;
  const ends = [Math.min(...places), Math.max(...places)];
  return [...drawn, { label: label(plain), color, dash: true, points: ends.map((x) => ({ x, y: across })) }];
}

const percents: Value = ({ accuracy }) => 100 * accuracy;
const latePercents: Value = ({ late }) => 100 * late.accuracy;

function accuracyChart(study: WeightStudy, kinds: readonly StudiedKind[]): string {
  const { baseline } = study;
  /**
   * The interval of the difference, around the baseline: a bar that does not touch the dashed line is a difference from
   * it.
   */
  const bar = ({ difference }: StudiedSetting): { lo: number; hi: number } | object => {
    if (!baseline || !difference?.interval) return {};
    const [lo, hi] = difference.interval.map((end) => 100 * (baseline.accuracy + end));
    return { lo, hi };
  };
  const series = [
    ...linesOf(study, kinds, { label: (kind) => kind, color: BLUE, value: percents }, bar),
    ...linesOf(study, kinds, { label: (kind) => `late, ${kind}`, color: ORANGE, value: latePercents }),
  ];
  const barred = series.some(({ points }) => points.some(({ lo }) => lo !== undefined));
  const title = `Held-out accuracy, chosen and late${barred ? "; bars: 95%, paired" : ""}`;
  return lineChart({ ...PANEL, ...weightAxis(study, kinds), title, yLabel: "accuracy (%)", series });
}

function rankChart(
  study: WeightStudy,
  kinds: readonly StudiedKind[],
  {
    title,
    yLabel,
    measures,
  }: { title: string; yLabel: string; measures: readonly (readonly [FeatureMeasure, string, string])[] },
): string[] {
  const series = measures.flatMap(([name, word, color]) =>
    linesOf(study, kinds, {
      label: (kind) => (measures.length > 1 ? `${word}, ${kind}` : kind),
      color,
      value: ({ features }) => features["held-out domain"][name],
    }),
  );
  if (series.length === 0) return [];
  return [lineChart({ ...PANEL, ...weightAxis(study, kinds), title, yLabel, series })];
}

/**
 * Accuracy by the size of the training domains' features, both over the second half of training, because selected steps
 * differ by more than penalties do. Every penalty starts at the method without one, with the smallest weight first.
 */
function sizeChart(study: WeightStudy): string[] {
  const { baseline, plain } = study;
  const isBroken = (setting: StudiedSetting): boolean =>
    isUnpenalised(setting) || (baseline !== null && setting.late.accuracy < baseline.late.accuracy - BROKEN);
  const pointOf = (setting: StudiedSetting): Series["points"] => {
    const { size, accuracy } = setting.late;
    return size === null || size <= 0 || isBroken(setting) ? [] : [{ x: size, y: 100 * accuracy }];
  };
  const start = baseline ? pointOf(baseline) : [];
  const penalties = [...new Set(study.kinds.map(({ penalty }) => penalty))];
  const lines = penalties.map((penalty, i): Series => {
    const own = study.kinds.filter((kind) => kind.penalty === penalty);
    const settings = own.flatMap((kind) => kind.settings).sort((a, b) => placeOf(a) - placeOf(b));
    return {
      label: nameOf(own[0]),
      color: paletteColor(i),
      marker: true,
      points: [...start, ...settings.flatMap(pointOf)],
    };
  });
  const drawn = lines.filter(({ points }) => points.length > start.length);
  const broken = study.kinds.flatMap(({ settings }) => settings).filter(isBroken).length;
  if (drawn.length === 0) return [];
  const without: Series[] = start.length > 0 ? [{ label: plain, color: "#000000", marker: true, points: start }] : [];
  return [
    lineChart({
      ...PANEL,
      title: "Late accuracy by size of features",
      xLabel: "‖F‖_F of the training domains' features",
      yLabel: "late accuracy (%)",
      logX: true,
      series: [...drawn, ...without],
      note: `Lines go from the smallest weight to the largest${broken > 0 ? `; not drawn: ${broken} that lost ${100 * BROKEN} points or more` : ""}`,
    }),
  ];
}
