/**
 * `nudge synthetic`: the toy task of Section 3.1, ERM compared with ERM-NU over many seeds. Pure TypeScript; never
 * loads the engine.
 */
import { join } from "node:path";
import { Command, Option } from "commander";
import { checkTask } from "../data/toy-task.js";
import { writeFigure } from "../drawing/write-figure.js";
import { UsageError } from "../errors.js";
import { isExact } from "../paper/synthetic/accuracy.js";
import { type Experiment, runExperiment, type Settings } from "../paper/synthetic/experiment.js";
import { figure1b, figure2, medianSeed, trainingFigure } from "../paper/synthetic/figures.js";
import { findings, fullAxes, type Grid, runGrid } from "../paper/synthetic/grid.js";
import { landmarks, paperLandmarks } from "../paper/synthetic/landmarks.js";
import { initNames, lossNames, mapNames } from "../paper/synthetic/model.js";
import { type PenaltyName, penaltyNames } from "../paper/synthetic/penalty.js";
import { separatingLines } from "../paper/synthetic/separating-lines.js";
import {
  comparisonText,
  experimentText,
  findingsText,
  gridText,
  isPaperTask,
  landmarkText,
  otherMapText,
  surveyText,
} from "../paper/synthetic/text-report.js";
import type { Checkpoint, TrainOptions } from "../paper/synthetic/train.js";
import { oneOf, realNumber, someOf, wholeNumber } from "./parse-options.js";
import { checkFolder } from "./writable-place.js";

interface Options extends Omit<TrainOptions, "task" | "seed" | "penalty"> {
  seeds: number;
  penalties: PenaltyName[];
  invariant: number;
  environmental: number;
  agreementIn: number;
  agreementOut: number;
  grid?: boolean;
  figure?: string;
  json: boolean;
}

const probability = (option: string) => realNumber(option, { least: 0, most: 1 });

/** The command. `write` receives its output. */
export function syntheticCommand(write: (text: string) => void = (text) => void process.stdout.write(text)): Command {
  return new Command("synthetic")
    .description(
      "Trains on the paper's 2-D toy task (Section 3.1): compares ERM with ERM-NU over many seeds. The paper reports 0.76 and 0.94.",
    )
    .option(
      "--seeds <count>",
      "run seeds 0 to count − 1; each has its own sample and initialization",
      wholeNumber("--seeds", 1),
      20,
    )
    .option("--samples <count>", "training points", wholeNumber("--samples", 1), 100)
    .option(
      "--init <name>",
      `the initialization: ${initNames.join(", ")}`,
      oneOf("initialisation", initNames),
      "uniform",
    )
    .option("--loss <name>", `the loss: ${lossNames.join(", ")}`, oneOf("loss", lossNames), "cross-entropy")
    .option(
      "--map <name>",
      `the feature map A: ${mapNames.join(", ")} (diagonal: the penalty acts like ℓ1)`,
      oneOf("map", mapNames),
      "full",
    )
    .option("--bias", "use a bias in the classifier", false)
    .option(
      "--learning-rate <rate>",
      "the learning rate of gradient descent",
      realNumber("--learning-rate", { above: 0 }),
      0.1,
    )
    .option("--steps <count>", "the maximum number of steps", wholeNumber("--steps"), 3000)
    .option(
      "--gradient-norm <length>",
      "stop when the gradient norm is below this value (0: never)",
      realNumber("--gradient-norm", { least: 0 }),
      0.001,
    )
    .option(
      "--loss-below <loss>",
      "stop when the mean loss is below this value (0: never)",
      realNumber("--loss-below", { least: 0 }),
      0,
    )
    .addOption(
      new Option(
        "--penalties <names>",
        `penalties to compare with plain ERM (comma-separated): ${penaltyNames.slice(1).join(", ")}`,
      )
        .argParser(someOf("penalty", penaltyNames))
        .default(["nuclear-norm", "frobenius-norm", "centred-nuclear-norm", "weight-decay"], "all four"),
    )
    .option("--weight <weight>", "the weight of each penalty", realNumber("--weight", { least: 0 }), 0.01)
    .option(
      "--scaling <name>",
      "sum (the paper's formula) or per-sample (the official code)",
      oneOf("scaling", ["sum", "per-sample"]),
      "sum",
    )
    .option("--warmup <steps>", "the number of steps before the penalty is applied", wholeNumber("--warmup"), 0)
    .option("--invariant <count>", "invariant features, r", wholeNumber("--invariant", 1), 1)
    .option("--environmental <count>", "environmental features, d − r", wholeNumber("--environmental"), 1)
    .option(
      "--agreement-in <p>",
      "probability that an environmental feature agrees with the label in domain",
      probability("--agreement-in"),
      0.7,
    )
    .option("--agreement-out <p>", "the same probability out of domain", probability("--agreement-out"), 0.3)
    .option("--grid", "also run every weight and scaling, and print every cell (half a minute)")
    .option("--no-grid", "skip the survey of sample sizes, initializations and stopping rules")
    .option("--figure <folder>", "write Figures 2 and 1b and the training curves to this folder, as SVG and PNG")
    .option("--json", "print everything as JSON", false)
    .addHelpText(
      "after",
      `
Examples:
  nudge synthetic
  nudge synthetic --samples 20 --steps 100 --no-grid
  nudge synthetic --seeds 64 --figure figures`,
    )
    .action(async (options: Options) => write(await synthetic(options)));
}

async function synthetic(options: Options): Promise<string> {
  const task = {
    ...{ invariant: options.invariant, environmental: options.environmental },
    agreement: { in: options.agreementIn, out: options.agreementOut },
  };
  checkTask(task);
  if (options.figure !== undefined) checkFolder(options.figure, "--figure");
  if (options.grid && !isPaperTask(task))
    throw new UsageError(
      "--grid reproduces the paper's numbers; do not combine it with --invariant, --environmental or --agreement-…",
    );
  const { samples, init, loss, map, bias, learningRate, steps, gradientNorm, lossBelow, weight, scaling, warmup } =
    options;
  const settings: Settings = {
    task,
    samples,
    init,
    loss,
    map,
    bias,
    learningRate,
    steps,
    gradientNorm,
    lossBelow,
    weight,
    scaling,
    warmup,
  };
  const seeds = Array.from({ length: options.seeds }, (_, i) => i);
  const penalties = [...new Set<PenaltyName>(["none", ...options.penalties])];
  const experiment = runExperiment(settings, seeds, penalties, curveSteps(steps));
  const grid = survey(options, settings, seeds, penalties[1]);
  // A full map can always make its features rank one; a diagonal one only by dropping an input. So both are shown.
  const other = grid && runExperiment({ ...settings, map: map === "full" ? "diagonal" : "full" }, seeds, penalties);
  const figures = options.figure === undefined ? [] : await drawFigures(options.figure, experiment);
  const exact = isExact(task);
  if (options.json)
    return `${JSON.stringify(
      {
        ...experiment,
        landmarks: exact ? landmarks(task) : [],
        paperLandmarks: isPaperTask(task) ? paperLandmarks(task) : [],
        ...(grid ? { otherMap: other, grid, findings: findings(grid) } : {}),
        figures,
      },
      null,
      2,
    )}\n`;
  const sections = [
    experimentText(experiment),
    [...comparisonText(experiment), ...(other ? otherMapText(other) : [])],
    ...(exact ? [landmarkText(task, samples)] : []),
    ...(grid ? [options.grid ? gridText(grid) : surveyText(grid, init), findingsText(grid)] : []),
    ...(figures.length > 0 ? [[`Figures: ${figures.join(", ")}`]] : []),
  ];
  return `${sections.map((lines) => lines.join("\n")).join("\n\n")}\n`;
}

/** Steps for the training curve: about forty, evenly spaced in their logarithm. */
function curveSteps(steps: number): Checkpoint[] {
  const spaced = Array.from({ length: 40 }, (_, i) => Math.round(Math.max(1, steps) ** (i / 39)));
  return [...new Set([0, ...spaced])].filter((step) => step <= steps).map((step) => ({ steps: step }));
}

/** The requested grid: all of it, or for the paper's task the part with the weight and scaling of the run. */
function survey(
  options: Options,
  settings: Settings,
  seeds: number[],
  penalty: PenaltyName | undefined,
): Grid | undefined {
  if (!penalty || options.grid === false || !isPaperTask(settings.task)) return undefined;
  const axes = options.grid
    ? fullAxes
    : { ...fullAxes, penalties: [{ weight: settings.weight, scaling: settings.scaling }] };
  return runGrid(settings, penalty, seeds, axes);
}

async function drawFigures(folder: string, experiment: Experiment): Promise<string[]> {
  const { task, samples, steps } = experiment.settings;
  const written: string[] = [];
  if (isExact(task)) {
    const seed = medianSeed(experiment.methods[0]);
    written.push(
      ...(await writeFigure(
        figure2(experiment, experiment.methods.slice(0, 2), seed),
        join(folder, "synthetic-figure-2"),
      )),
    );
    const family = separatingLines(task, Math.min(samples, 16), seed);
    written.push(...(await writeFigure(figure1b(family, task), join(folder, "synthetic-figure-1b"))));
  }
  if (steps > 1) written.push(...(await writeFigure(trainingFigure(experiment), join(folder, "synthetic-training"))));
  return written;
}
