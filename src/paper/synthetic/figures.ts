/**
 * The paper's Figures 2 and 1b for the 2-D task, and the out-of-domain accuracy during training, which the paper does
 * not show.
 */

import { type Domain, type Sample, sampleTask, type Task } from "../../data/toy-task.js";
import { lineChart, panels, scatterChart } from "../../drawing/plot.js";
import { paletteColor } from "../../drawing/svg.js";
import { exactAccuracy, sampleAccuracy } from "./accuracy.js";
import { type Experiment, type Method, paperAccuracy, spread } from "./experiment.js";
import type { SeparatingFamily, SeparatingLine } from "./separating-lines.js";
import type { Run } from "./train.js";

/** The paper's two colours, yellow and navy blue. The shapes differ too. */
const classColors = { negative: "#E69F00", positive: "#1B3A78" };
const boundaryColor = "#009E73";
const square = {
  xMin: -1.05,
  xMax: 1.05,
  yMin: -1.05,
  yMax: 1.05,
  width: 400,
  height: 440,
  xLabel: "x₁ (invariant)",
  yLabel: "x₂ (environmental)",
};

function classes({ x, y, n }: Sample) {
  const points = (label: number) =>
    Array.from({ length: n }, (_, i) => i)
      .filter((i) => y[i] === label)
      .map((i) => ({ x: x[2 * i], y: x[2 * i + 1] }));
  return [
    { label: "y = −1", points: points(-1), color: classColors.negative },
    { label: "y = 1", points: points(1), color: classColors.positive },
  ];
}

/** Returns the seed with the median out-of-domain accuracy of a method, so that a figure shows a typical run. */
export function medianSeed(method: Method): number {
  const ordered = method.runs.toSorted((a, b) => a.accuracy.out - b.accuracy.out);
  return ordered[Math.floor((ordered.length - 1) / 2)].seed;
}

/**
 * Figure 2: the points of both classes, the decision boundary and the accuracy, for both methods in and out of domain.
 */
export function figure2(experiment: Experiment, methods: readonly Method[], seed: number): string {
  const { task, samples } = experiment.settings;
  const panel = (method: Method, domain: Domain): string => {
    const run = method.runs.find((candidate) => candidate.seed === seed)!;
    const [a, b] = run.predictor.weights;
    const boundary = { a, b, c: run.predictor.offset };
    const predictor = { weights: Float64Array.of(a, b), offset: run.predictor.offset };
    const sample = sampleTask(task, samples, domain, seed, domain === "in" ? "train" : "shown");
    const onPoints = sampleAccuracy(sample, predictor).toFixed(2);
    const exact = exactAccuracy(task, predictor, domain).toFixed(3);
    return scatterChart({
      ...square,
      title: `${method.title}, ${domain === "in" ? "in domain (training points)" : "out of domain"}`,
      classes: classes(sample),
      lines: [{ ...boundary, label: "decision boundary", color: "#222222", width: 2.4 }],
      halfPlanes: [
        { ...boundary, color: classColors.positive },
        { a: -boundary.a, b: -boundary.b, c: -boundary.c, color: classColors.negative },
      ],
      note: `accuracy ${onPoints} on these points, ${exact} on the distribution`,
    });
  };
  const drawn = methods.flatMap((method) => [panel(method, "in"), panel(method, "out")]);
  return panels(drawn, {
    columns: 2,
    title: `The 2-D task of Section 3.1: n = ${samples}, seed ${seed} (the median seed of ERM)`,
  });
}

/**
 * Figure 1b: lines without training error, those with the smallest nuclear norm, and the norm as a function of the
 * line.
 */
export function figure1b(family: SeparatingFamily, task: Task): string {
  const { sample, angles, lines, smallest } = family;
  const shown = classes(sample);
  const fan = Array.from({ length: 8 }, (_, i) => angles.from + ((angles.to - angles.from) * (i + 0.5)) / 8);
  const left = scatterChart({
    ...square,
    title: "ERM solutions",
    classes: shown,
    lines: fan.map((angle, i) => ({
      ...lineAt(angle),
      ...{ color: boundaryColor, width: 1.6, label: i === 0 ? "no training error" : undefined },
    })),
    note: "with a full A, each of these lines has features of rank one",
  });
  const out = (line: SeparatingLine) => exactAccuracy(task, predictorAt(line.angle), "out").toFixed(3);
  const right = scatterChart({
    ...square,
    title: "Those of smallest ‖F‖∗",
    classes: shown,
    lines: [
      { ...lineAt(smallest.full.angle), color: boundaryColor, width: 2.6, label: "full A" },
      { ...lineAt(smallest.diagonal.angle), color: "#D55E00", width: 2.6, dash: true, label: "diagonal A" },
    ],
    note: `accuracy out of domain: full ${out(smallest.full)}, diagonal ${out(smallest.diagonal)}`,
  });
  const along = (norm: "full" | "diagonal") => lines.map((line) => ({ x: Math.tan(line.angle), y: line[norm] }));
  const curve = lineChart({
    title: "‖F‖∗ along the family",
    xLabel: "weight of x₂ / weight of x₁",
    yLabel: "‖F‖∗",
    width: 400,
    height: 440,
    yMin: 0,
    yMax: 2 * smallest.diagonal.diagonal,
    series: [
      { label: "full A, best for the line", color: boundaryColor, points: along("full") },
      { label: "diagonal A", color: "#D55E00", dash: true, points: along("diagonal") },
    ],
    note: `each line scaled to a training loss of ${family.loss}`,
  });
  return panels([left, right, curve], { title: `Figure 1b on ${sample.n} points, seed ${family.seed}` });
}

const predictorAt = (angle: number) => ({ weights: Float64Array.of(Math.cos(angle), Math.sin(angle)), offset: 0 });
const lineAt = (angle: number) => ({ a: Math.cos(angle), b: Math.sin(angle), c: 0 });

/** The out-of-domain accuracy as a function of the stopping step. */
export function trainingFigure(experiment: Experiment): string {
  const steps = experiment.checkpoints.flatMap((checkpoint, i) =>
    "steps" in checkpoint && checkpoint.steps > 0 ? [{ step: checkpoint.steps, i }] : [],
  );
  const { settings, seeds, methods } = experiment;
  const series = methods.map((method, m) => ({
    label: method.title,
    color: paletteColor(m),
    dash: m > 1,
    points: steps.map(({ step, i }) => {
      const { mean, deviation } = spread(method.runs, (run: Run) => run.history[i].accuracy.out);
      // Only one band is shown, because the others would overlap.
      return { x: step, y: mean, ...(m === 0 ? { lo: mean - deviation, hi: Math.min(1, mean + deviation) } : {}) };
    }),
  }));
  const across = (label: string, y: number, color: string) => ({
    ...{ label, color, dash: true },
    points: [steps[0], steps[steps.length - 1]].map(({ step }) => ({ x: step, y })),
  });
  return lineChart({
    title: "Out-of-domain accuracy against the step at which training is stopped",
    xLabel: `gradient steps (learning rate ${settings.learningRate})`,
    yLabel: "accuracy out of domain",
    logX: true,
    yMin: 0.4,
    yMax: 1,
    width: 760,
    height: 480,
    series: [
      ...series,
      across(`the paper's ERM, ${paperAccuracy.none}`, paperAccuracy.none, "#888888"),
      across(`the paper's ERM-NU, ${paperAccuracy["nuclear-norm"]}`, paperAccuracy["nuclear-norm"], "#000000"),
    ],
    note: `mean of ${seeds.length} seeds, ERM's band one standard deviation; n = ${settings.samples}, ${settings.init} start, weight ${settings.weight} ${settings.scaling}`,
  });
}
