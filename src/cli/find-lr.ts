/** `nudge train --find-lr`: a learning-rate range test, printed as a table and drawn as a figure. */

import { join } from "node:path";
import { evenlyChosen } from "../data/evenly-chosen.js";
import { lineChart } from "../drawing/plot.js";
import { writeFigure } from "../drawing/write-figure.js";
import type { Plan } from "../settings/resolve.js";
import { runName } from "../settings/settings.js";
import { findRate, type RateTest } from "../training/find-rate.js";
import type { Reporter } from "../training/reporter.js";
import type { StopSignals } from "./stop-signals.js";

export interface FindLrOptions {
  readonly out: string;
  readonly json?: true;
  readonly reporter: Reporter;
  readonly stop: StopSignals;
}

/** Tests learning rates for a run, prints the result and writes the figure. */
export async function findLr(plan: Plan, { out, json, reporter, stop }: FindLrOptions): Promise<void> {
  const say = (text: string): void => reporter.line(text);
  const test = await findRate(plan, { say, shouldStop: () => stop.asked });
  const files = await writeFigure(drawing(plan, test), join(out, `find-lr-${runName(plan.settings)}`));
  process.stdout.write(json ? `${JSON.stringify({ ...test, files }, null, 2)}\n` : text(plan, test, files));
}

const rate = (value: number): string => value.toExponential(1);

/** Describes the rates that a test found, and the one to use. */
export function adviceWords({ steepest, tenthOfMinimum, decrease, advised }: RateTest, lr: number): string {
  if (steepest === null)
    return "The loss does not decrease at any learning rate. Check the data, or test smaller rates.";
  const found = `The loss decreases fastest at ${rate(steepest)}. It is smallest at ${rate(10 * tenthOfMinimum)}; one tenth of that rate is ${rate(tenthOfMinimum)}.\nThe learning rate of this run is ${lr}.`;
  return advised === null
    ? `${found} The smoothed loss decreases by ${(100 * decrease).toFixed(1)} % only, which can be chance, so the test does not suggest a rate. Test with a larger batchSize, or compare rates in a sweep (--grid lr=1e-4,1e-3).`
    : `${found} Set it with lr=${rate(advised)}.`;
}

function text({ settings }: Plan, test: RateTest, files: readonly string[]): string {
  const { points, diverged } = test;
  const rows = evenlyChosen(points, 12).map(
    ({ lr, loss, smooth }) => `  ${rate(lr).padEnd(9)} ${loss.toFixed(4).padStart(9)} ${smooth.toFixed(4).padStart(9)}`,
  );
  const end = diverged
    ? `The test ended at ${rate(points.at(-1)!.lr)}, where the loss increased.`
    : "The loss did not increase up to the largest rate.";
  return [
    `Tested ${points.length} learning rates, with one update each.\n`,
    `  ${"lr".padEnd(9)} ${"loss".padStart(9)} ${"smoothed".padStart(9)}`,
    ...rows,
    `\n${end}\n${adviceWords(test, Number(settings.hparams.lr))}`,
    ...files.map((path) => `wrote ${path}`),
    "",
  ].join("\n");
}

function drawing({ settings }: Plan, { points, steepest, tenthOfMinimum }: RateTest): string {
  const smooth = points.map((point) => ({ x: point.lr, y: point.smooth }));
  const [low, high] = [Math.min(...smooth.map(({ y }) => y)), Math.max(...smooth.slice(0, 1).map(({ y }) => 1.2 * y))];
  const shown = points.filter(({ loss }) => loss <= 2 * high).map(({ lr, loss }) => ({ x: lr, y: loss }));
  const upright = (x: number, label: string) => ({
    label,
    points: [
      { x, y: low },
      { x, y: high },
    ],
    dash: true,
  });
  return lineChart({
    title: `Learning rates: ${settings.dataset}, ${settings.algorithm}, ${settings.backbone}`,
    xLabel: "learning rate",
    yLabel: "training loss",
    logX: true,
    series: [
      { label: "each update", points: shown },
      { label: "smoothed", points: smooth.filter(({ y }) => y <= 2 * high) },
      ...(steepest === null ? [] : [upright(steepest, `fastest decrease: ${rate(steepest)}`)]),
      upright(tenthOfMinimum, `one tenth of the rate at the minimum: ${rate(tenthOfMinimum)}`),
    ],
    width: 860,
    height: 420,
  });
}
