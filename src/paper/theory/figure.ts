/** The figure of `nudge theory`: the out-of-domain accuracy of the three objectives against γ and against d. */

import { join } from "node:path";
import { type LineChart, lineChart, panels, type Series } from "../../drawing/plot.js";
import { writeFigure } from "../../drawing/write-figure.js";
import { solveL2 } from "./erm-l2.js";
import { solveNuclear } from "./nuclear.js";
import { type Setting, smallestLambda } from "./setting.js";
import { type Accuracy, accuracyOf } from "./theory.js";

/** The out-of-domain accuracy of the three objectives at one γ and d. λ, r and B_rank are those of the setting. */
export interface FigurePoint {
  readonly gamma: number;
  readonly d: number;
  readonly l2: Accuracy;
  readonly rank: Accuracy;
  readonly nuclear: Accuracy;
}

/** The two sweeps of the figure. */
export interface FigurePoints {
  readonly byGamma: readonly FigurePoint[];
  readonly byD: readonly FigurePoint[];
}

/** Solves the three objectives at another γ or d. */
export function figurePoint({ r, lambda, bRank }: Setting, gamma: number, d: number): FigurePoint {
  const counts = { invariant: r, spurious: d - r };
  // Lemma 2's support: invariant features first. The command itself finds it by comparing all supports.
  const invariant = Math.min(bRank, r);
  const support = { invariant, spurious: Math.min(bRank - invariant, d - r) };
  return {
    gamma,
    d,
    l2: accuracyOf(counts, solveL2({ ...counts, gamma, lambda }), -gamma),
    rank: accuracyOf(support, solveL2({ ...support, gamma, lambda }), -gamma),
    nuclear: accuracyOf(counts, solveNuclear({ r, d, gamma, lambda }), -gamma),
  };
}

/** γ from 0.02 to 0.498 at the setting's d, and d from r + 1 to twice the setting's d at its γ. */
export function figurePoints(setting: Setting): FigurePoints {
  const { r, d, gamma } = setting;
  // The grid is finer towards ½, where the nuclear norm starts to use the spurious features.
  const gammas = [
    ...Array.from({ length: 44 }, (_, i) => 0.02 + i / 100),
    ...Array.from({ length: 23 }, (_, i) => 0.454 + i / 500),
  ];
  const steps = 48;
  const dimensions = Array.from({ length: steps + 1 }, (_, i) => r + 1 + Math.round(((2 * (d - r) - 1) * i) / steps));
  return {
    byGamma: gammas.map((value) => figurePoint(setting, value, d)),
    byD: [...new Set(dimensions)].map((value) => figurePoint(setting, gamma, value)),
  };
}

/** The smallest value on a logarithmic axis. */
const SMALLEST_LOG10 = -300;

/** Draws the four panels: linear axes above, logarithmic axes below. */
export function drawFigure(setting: Setting, points: FigurePoints): string {
  const { r, d, gamma, lambda, bRank } = setting;
  const common = `r = ${r}, λ = ${lambda.toPrecision(3)}, B_rank = ${bRank}`;
  const smallestGamma = Math.max(3 / Math.sqrt(r), Math.sqrt(r / (d - r))); // from γ > 3/√r and d > r/γ² + r
  const gammaNote =
    smallestGamma < 0.5
      ? `the Proposition speaks of ${smallestGamma.toFixed(3)} < γ < 0.5`
      : "the Proposition admits no γ here";
  const dNote = `the Proposition speaks of d > r/γ² + r = ${(r / (gamma * gamma) + r).toFixed(1)}`;
  // λ₀ hardly depends on γ and d if the other conditions are met, so a small tolerance is allowed.
  const strong = (point: FigurePoint) => lambda >= (1 - 1e-9) * smallestLambda({ r, d: point.d, gamma: point.gamma });
  const admissible = (point: FigurePoint) => strong(point) && point.gamma > smallestGamma;
  const large = (point: FigurePoint) =>
    strong(point) && gamma > 3 / Math.sqrt(r) && gamma < 0.5 && point.d > r / (gamma * gamma) + r;
  const charts: LineChart[] = [false, true].flatMap((logY) => [
    chart(points.byGamma, "gamma", logY, admissible, {
      r,
      title: `against γ, d = ${d}`,
      note: `${common}; ${gammaNote}`,
    }),
    chart(points.byD, "d", logY, large, { r, title: `against d, γ = ${gamma}`, note: `${common}; ${dNote}` }),
  ]);
  return panels(charts.map(lineChart), { columns: 2, title: "Out-of-domain accuracy of the three objectives" });
}

function chart(
  points: readonly FigurePoint[],
  by: "gamma" | "d",
  logY: boolean,
  inProposition: (point: FigurePoint) => boolean,
  { r, title, note }: { r: number; title: string; note: string },
): LineChart {
  const y = ({ accuracy, log10Accuracy }: Accuracy): number | undefined => {
    if (accuracy === null) return undefined; // w = 0 makes no prediction
    return logY ? 10 ** Math.max(SMALLEST_LOG10, log10Accuracy ?? SMALLEST_LOG10) : accuracy;
  };
  const series = (label: string, key: "l2" | "rank" | "nuclear", color: string, dash = false): Series => ({
    label,
    color,
    dash,
    points: points.flatMap((point) => {
      const value = y(point[key]);
      return value === undefined ? [] : [{ x: point[by], y: value }];
    }),
  });
  const bound = points.filter(inProposition).map((point) => ({ x: point[by], y: Math.exp(-r / 10) }));
  const lines = [
    series("ERM-ℓ2", "l2", "#d1495b"),
    series("nuclear norm", "nuclear", "#2e7dd7"),
    series("ERM-rank", "rank", "#3a9d5d", true),
    ...(bound.length > 0 ? [{ label: "at most exp(−r/10)", color: "#888888", dash: true, points: bound }] : []),
  ];
  return {
    title: `Accuracy ${title}`,
    xLabel: by === "gamma" ? "spurious correlation γ" : "number of features d",
    yLabel: logY ? "out-of-domain accuracy (log)" : "out-of-domain accuracy",
    series: lines.filter((line) => line.points.length > 0),
    ...(logY ? { logY } : { yMin: -0.02, yMax: 1.05 }),
    width: 560,
    height: 360,
    note,
  };
}

/** Draws and writes `theory-accuracy.svg` and `.png` in a folder, and returns their paths. */
export async function writeTheoryFigure(setting: Setting, points: FigurePoints, folder: string): Promise<string[]> {
  return writeFigure(drawFigure(setting, points), join(folder, "theory-accuracy"));
}
