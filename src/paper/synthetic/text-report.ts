/** The output of `nudge synthetic`: first numbers, then sentences derived from them. */

import { paperTask, type Task } from "../../data/toy-task.js";
import { testSampleSize } from "./accuracy.js";
import { type Experiment, type Method, paperAccuracy, tolerance } from "./experiment.js";
import { type Cell, type Findings, findings, type Grid, ruleText, settingText } from "./grid.js";
import { landmarks, paperLandmarks } from "./landmarks.js";
import type { Snapshot } from "./train.js";

const digits = (value: number, places = 3): string => value.toFixed(places).replace("-", "−");

/** Formats rows of cells as lines, with columns as wide as their widest cell. */
function align(rows: string[][]): string[] {
  const widths = rows[0].map((_, j) => Math.max(...rows.map((row) => [...(row[j] ?? "")].length)));
  return rows.map((row) =>
    row
      .map((cell, j) => cell + " ".repeat(widths[j] - [...cell].length))
      .join("  ")
      .trimEnd(),
  );
}

/** Returns true for the exact task of Section 3.1, to which the paper's numbers apply. */
export const isPaperTask = (task: Task): boolean => JSON.stringify(task) === JSON.stringify(paperTask);

/** Returns the settings and a table of the methods. */
export function experimentText(experiment: Experiment): string[] {
  const { settings: s, seeds, methods } = experiment;
  const paper = isPaperTask(s.task);
  const kind = paper
    ? "The 2-D task of Section 3.1"
    : `The task with ${s.task.invariant} invariant and ${s.task.environmental} environmental features`;
  const rows = methods.map((method) => {
    const { train, in: inside, out } = method.accuracy;
    return [
      method.title,
      ...(paper ? [method.paper ? digits(method.paper.accuracy, 2) : ""] : []),
      `${digits(out.mean)} ± ${digits(out.deviation)}`,
      `${digits(out.lowest.value)} (${out.lowest.seed})`,
      `${digits(out.highest.value)} (${out.highest.seed})`,
      `${digits(inside.mean)} ± ${digits(inside.deviation)}`,
      digits(train.mean),
      digits(method.headNorm.mean, 2),
      digits(method.featureNorm.mean, 2),
      digits(method.featureRatio.mean),
      stopText(method),
    ];
  });
  const heading = [
    "method",
    ...(paper ? ["paper"] : []),
    "out of domain",
    "worst (seed)",
    "best (seed)",
    "in domain",
    "train",
    "‖head‖",
    "‖F‖_F",
    "‖F‖_*/‖F‖_F",
    "stopped by",
  ];
  const stops = [
    ...(s.gradientNorm > 0 ? [`at a gradient norm of ${s.gradientNorm}`] : []),
    ...(s.lossBelow > 0 ? [`at a loss of ${s.lossBelow}`] : []),
    `after ${s.steps} steps`,
  ];
  return [
    `${kind}: environmental features agree with the label with probability ${s.task.agreement.in} in domain, ${s.task.agreement.out} out of it.`,
    `${s.samples} points, ${seeds.length} seeds, ${s.init} start, ${s.map} map, ${s.loss}, ${s.bias ? "head with bias" : "no bias"}, gradient descent at ${s.learningRate}; stops ${stops.join(" or ")}.`,
    `Penalties: weight ${s.weight}, scaling ${s.scaling}, warm-up ${s.warmup} steps. Accuracies are ${experiment.accuracyBy === "area" ? "exact, by area" : `of ${testSampleSize} fresh points`}.`,
    "",
    ...align([heading, ...rows]),
  ];
}

function stopText(method: Method): string {
  const names = { steps: "step limit", "gradient-norm": "gradient norm", loss: "loss" } as const;
  return (Object.keys(names) as (keyof typeof names)[])
    .filter((rule) => method.stoppedBy[rule])
    .map((rule) => `${names[rule]} ${method.stoppedBy[rule]}×`)
    .join(", ");
}

/** Compares the table with the paper's two numbers, and describes scale and rank. */
export function comparisonText(experiment: Experiment): string[] {
  const find = (penalty: Method["penalty"]) => experiment.methods.find((method) => method.penalty === penalty);
  const [erm, nu, frobenius] = [find("none"), find("nuclear-norm"), find("frobenius-norm")];
  const lines: string[] = [];
  if (isPaperTask(experiment.settings.task))
    for (const method of [erm, nu])
      if (method?.paper) {
        const { mean, lowest, highest } = method.accuracy.out;
        const { accuracy, seedsWithin } = method.paper;
        const verdict = Math.abs(mean - accuracy) <= tolerance ? "appears" : "does not appear";
        lines.push(
          `${method.title}: the paper's ${accuracy} ${verdict} here: mean ${digits(mean)}, seeds from ${digits(lowest.value)} to ${digits(highest.value)}, ${seedsWithin} of ${method.runs.length} within ${tolerance} of it.`,
        );
      }
  if (erm && isPaperTask(experiment.settings.task)) lines.push(passageText(experiment, erm, nu));
  if (erm && nu) {
    const gains = nu.runs.map((run, i) => run.accuracy.out - erm.runs[i].accuracy.out);
    const mean = gains.reduce((sum, gain) => sum + gain, 0) / gains.length;
    const better = gains.filter((gain) => gain > 0).length;
    lines.push(
      `The penalty changes out-of-domain accuracy by ${mean > 0 ? "+" : ""}${digits(mean)} on average and raises it on ${better} of ${gains.length} seeds.`,
    );
    lines.push(
      `Scale and rank: it takes ‖F‖_F from ${digits(erm.featureNorm.mean, 2)} to ${digits(nu.featureNorm.mean, 2)} with the head from ${digits(erm.headNorm.mean, 2)} to ${digits(nu.headNorm.mean, 2)}, and ‖F‖_*/‖F‖_F (1 is rank one) from ${digits(erm.featureRatio.mean)} to ${digits(nu.featureRatio.mean)}.`,
    );
  }
  if (nu && frobenius) {
    const gap = Math.max(...nu.runs.map((run, i) => Math.abs(run.accuracy.out - frobenius.runs[i].accuracy.out)));
    lines.push(
      `A Frobenius penalty of the same weight, which is blind to rank, ends ${gap <= tolerance ? "at the same accuracy" : "elsewhere"}: the two differ by at most ${gap < 0.0005 ? gap.toExponential(0) : digits(gap)} on a seed.`,
    );
  }
  return lines;
}

/**
 * Describes the result with the other kind of map in a sentence. With a diagonal map, the nuclear norm depends on rank.
 */
export function otherMapText(other: Experiment): string[] {
  const figures = other.methods.map((method) => `${method.title} ${digits(method.accuracy.out.mean)}`);
  const tilts = other.methods.map((method) => {
    // Uses angles, so that a model at zero counts as untilted and one that ignores x₁ causes no division by zero.
    const angles = method.runs.map(({ predictor: { weights } }) =>
      Math.atan2(Math.abs(weights[1]), Math.abs(weights[0])),
    );
    const median = angles.sort((a, b) => a - b)[Math.floor(angles.length / 2)];
    return `${method.title} ${digits((median * 180) / Math.PI, 2)}°`;
  });
  return [
    `With a ${other.settings.map} map and all else equal, out of domain: ${figures.join(", ")}; the boundary leans from the x₂ axis by a median of ${tilts.join(", ")}.`,
  ];
}

/** Describes the steps at which ERM's mean is close to the paper's number. */
function passageText(experiment: Experiment, erm: Method, nu: Method | undefined): string {
  const mean = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const at = (method: Method, i: number, figure: (snapshot: Snapshot) => number) =>
    mean(method.runs.map((run) => figure(run.history[i])));
  const out = (snapshot: Snapshot) => snapshot.accuracy.out;
  const near = experiment.checkpoints.flatMap((checkpoint, i) =>
    "steps" in checkpoint && Math.abs(at(erm, i, out) - paperAccuracy.none) <= tolerance
      ? [{ step: checkpoint.steps, i }]
      : [],
  );
  if (near.length === 0)
    return `ERM's mean is within ${tolerance} of ${paperAccuracy.none} at none of the steps recorded.`;
  const [first, last] = [near[0], near[near.length - 1]];
  const range = (figure: (i: number) => number) => {
    const [low, high] = [Math.min(...near.map(({ i }) => figure(i))), Math.max(...near.map(({ i }) => figure(i)))];
    return digits(low, 2) === digits(high, 2) ? digits(low, 2) : `${digits(low, 2)}–${digits(high, 2)}`;
  };
  const steps = first === last ? `step ${first.step}` : `steps ${first.step} to ${last.step}`;
  const train = range((i) => at(erm, i, (snapshot) => snapshot.trainAccuracy));
  const other = nu ? ` and ${nu.title} ${range((i) => at(nu, i, out))} out of domain` : "";
  return `ERM's mean is within ${tolerance} of ${paperAccuracy.none} at ${steps} of the ${experiment.settings.steps}, where it has ${train} on its training points${other}.`;
}

/** Returns the closed-form directions of the 2-D task, and what the paper's numbers would require. */
export function landmarkText(task: Task, samples: number): string[] {
  const paper = isPaperTask(task) ? paperLandmarks(task) : [];
  const rows = [...landmarks(task), ...paper].map((mark) => [
    digits(mark.tilt),
    digits(mark.in),
    digits(mark.out),
    mark.name,
  ]);
  const erm = paper[0];
  return [
    "In closed form, for a boundary through the origin with weights (1, t):",
    ...align([["t", "in", "out", ""], ...rows]),
    ...(erm
      ? [
          `So a boundary with ${digits(erm.out, 2)} out of domain has ${digits(erm.in)} in domain: of ${samples} training points it gets about ${Math.round(samples * (1 - erm.in))} wrong, and gets all right with probability ${digits(erm.in)}^${samples} = ${(erm.in ** samples).toPrecision(2)}.`,
        ]
      : []),
  ];
}

/** Returns a table of means by stopping rule and sample size, for one initialization. */
export function surveyText(grid: Grid, init: string): string[] {
  const cells = grid.cells.filter((cell) => cell.init === init);
  const sizes = [...new Set(cells.map((cell) => cell.samples))];
  const rules = [...new Set(cells.map((cell) => ruleText(cell.checkpoint)))];
  const rows = rules.map((rule) => [
    rule,
    ...sizes.map((samples) => {
      const cell = cells.find((candidate) => candidate.samples === samples && ruleText(candidate.checkpoint) === rule)!;
      return `${digits(cell.erm.out)} → ${digits(cell.penalised.out)}`;
    }),
  ]);
  return [
    `Out of domain by stopping rule and sample size (ERM → penalised, means of ${grid.seeds} seeds, ${init} start):`,
    ...align([["stopped at", ...sizes.map((samples) => `n = ${samples}`)], ...rows]),
  ];
}

/** Returns every cell of a grid: one line per initialization and stopping rule, one column per penalty. */
export function gridText(grid: Grid): string[] {
  const key = (cell: Cell) => `${cell.samples} ${cell.init} ${ruleText(cell.checkpoint)}`;
  const penalties = [...new Set(grid.cells.map((cell) => `${cell.weight} ${cell.scaling}`))];
  const groups = [...new Set(grid.cells.map(key))].map((name) => grid.cells.filter((cell) => key(cell) === name));
  const rows = groups.map((cells) => [
    String(cells[0].samples),
    cells[0].init,
    ruleText(cells[0].checkpoint),
    `${digits(cells[0].erm.out)} [${digits(cells[0].erm.lowest, 2)}, ${digits(cells[0].erm.highest, 2)}]`,
    digits(cells[0].erm.train),
    ...cells.map((cell) => `${digits(cell.penalised.out)}${cell.penalised.reached < grid.seeds ? "*" : ""}`),
  ]);
  return [
    `Out-of-domain accuracy, means of ${grid.seeds} seeds ([worst, best] for ERM), ${grid.penalty} by weight and scaling:`,
    ...align([["n", "start", "stopped at", "ERM", "ERM train", ...penalties], ...rows]),
    `* not every seed came to that gradient within ${grid.steps} steps; the rest are taken there.`,
  ];
}

/** Describes which settings reproduce the paper's numbers. */
export function findingsText(grid: Grid, found: Findings = findings(grid)): string[] {
  const some = (cells: Cell[], figure: (cell: Cell) => string) =>
    cells.length === 0
      ? "none"
      : cells
          .slice(0, 4)
          .map((cell) => `${settingText(cell)} (${figure(cell)})`)
          .join("; ") + (cells.length > 4 ? `; and ${cells.length - 4} more` : "");
  const pair = (cell: Cell) => `${digits(cell.erm.out)} → ${digits(cell.penalised.out)}`;
  const { none, "nuclear-norm": target } = paperAccuracy;
  return [
    `Of ${found.settings} settings (start, sample size, stopping rule, weight, scaling), those whose means are within ${tolerance} of`,
    `- both ${none} and ${target}: ${found.both.length}${found.both.length ? `: ${some(found.both, pair)}` : ""};`,
    `- ERM's ${none}: ${found.erm.length} of the ${found.ermSettings} that differ for ERM${
      found.erm.length
        ? `: ${found.erm
            .slice(0, 4)
            .map(
              (cell) =>
                `n=${cell.samples}, ${cell.init} start, ${ruleText(cell.checkpoint)} (${digits(cell.erm.out)}, training accuracy ${digits(cell.erm.train)})`,
            )
            .join("; ")}${found.erm.length > 4 ? "; …" : ""}`
        : ""
    };`,
    `- the penalty's ${target}: ${found.penalised.length}, where ERM has ${found.penalised.length ? `${digits(Math.min(...found.penalised.map((cell) => cell.erm.out)))} to ${digits(Math.max(...found.penalised.map((cell) => cell.erm.out)))}` : "no figure"}.`,
    `Of ${found.pairs} single pairs of runs, ${found.pairsWithBoth} have both numbers at once.`,
    `ERM's mean by stopping rule, over sample sizes and starts: ${found.ermByRule.map(({ rule, lowest, highest }) => `${rule} ${digits(lowest, 2)}–${digits(highest, 2)}`).join(", ")}.`,
    `The penalty raises the mean by more than ${tolerance} in ${found.gain.helps} settings, lowers it by more in ${found.gain.hurts}, and leaves it within in ${found.gain.neither}. Most raised: ${settingText(found.gain.largest)} (${pair(found.gain.largest)}). Most lowered: ${settingText(found.gain.smallest)} (${pair(found.gain.smallest)}).`,
  ];
}
