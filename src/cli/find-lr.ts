/** `nudge train --find-lr`: a range test of learning rates, as a table and a drawing. */

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

/** Tests rates for a run, prints what was found and writes the drawing. */
export async function findLr(plan: Plan, { out, json, reporter, stop }: FindLrOptions): Promise<void> {
  const say = (text: string): void => reporter.line(text);
  const test = await findRate(plan, { say, shouldStop: () => stop.asked });
  const files = await writeFigure(drawing(plan, test), join(out, `find-lr-${runName(plan.settings)}`));
  process.stdout.write(json ? `${JSON.stringify({ ...test, files }, null, 2)}\n` : text(plan, test, files));
}

const rate = (value: number): string => value.toExponential(1);

function text(
  { settings }: Plan,
  { points, steepest, tenthOfMinimum, diverged }: RateTest,
  files: readonly string[],
): string {
  const rows = evenlyChosen(points, 12).map(
    ({ lr, loss, smooth }) => `  ${rate(lr).padEnd(9)} ${loss.toFixed(4).padStart(9)} ${smooth.toFixed(4).padStart(9)}`,
  );
  const found =
    steepest === null
      ? "The loss falls nowhere: look at the data, or test smaller rates."
      : `The loss falls fastest at ${rate(steepest)}. Its smallest value is at ${rate(10 * tenthOfMinimum)}; a tenth of that is ${rate(tenthOfMinimum)}.\nThe run's own learning rate is ${settings.hparams.lr}. Set one with lr=${rate(steepest)}.`;
  const end = diverged
    ? `The loss rose at ${rate(points.at(-1)!.lr)}, where the test ended.`
    : "The loss did not rise up to the largest rate.";
  return [
    `Tested ${points.length} learning rates, one update each.\n`,
    `  ${"lr".padEnd(9)} ${"loss".padStart(9)} ${"smoothed".padStart(9)}`,
    ...rows,
    `\n${end}\n${found}`,
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
      ...(steepest === null ? [] : [upright(steepest, `falls fastest: ${rate(steepest)}`)]),
      upright(tenthOfMinimum, `a tenth of the minimum's: ${rate(tenthOfMinimum)}`),
    ],
    width: 860,
    height: 420,
  });
}
