#!/usr/bin/env node
/**
 * Prints the weights of the study's penalties for a dataset and a backbone, from a finished calibration (`plan.mjs <block> --calibrate`):
 *
 *     node studies/rank-or-scale/set-weights.mjs sweeps/calibration-office31
 *
 * A penalty that is matched in scale has the weight at which ‖F‖_F on validation pictures is that of ERM-NU, interpolated in logarithms. RATIO has the
 * largest weight at which accuracy on validation pictures of the training domains is at most one point below ERM's. Both are means over the held-out
 * domains and over the evaluations of the second half of training. Accuracy on held-out domains is neither used nor printed.
 *
 * `plan.mjs --calibration sweeps/calibration-office31` plans with these weights. The last line can be added to WEIGHTS in `blocks.mjs`, to keep them.
 */
import { keyOf } from "./blocks.mjs";
import { calibrate } from "./calibration.mjs";
import { runsOf, stop } from "./study.mjs";

const [sweep] = process.argv.slice(2);
if (!sweep) stop("set-weights: expected the folder of a calibration sweep, such as sweeps/calibration-office31");
const runs = runsOf(sweep);
const { points, weights, problems } = calibrate(runs);
for (const { name, value, norm, accuracy, heldOut } of points)
  process.stdout.write(
    `${name}${value > 0 ? ` ${value}` : ""}: ‖F‖_F ${norm.toFixed(1)}, validation accuracy ${(100 * accuracy).toFixed(2)} %, ${heldOut.length} runs\n`,
  );
if (Object.keys(weights).length > 0)
  process.stdout.write(`${JSON.stringify(keyOf(runs[0].dataset, runs[0].backbone))}: ${JSON.stringify(weights)}\n`);
if (problems.length > 0) stop(problems.map((problem) => `set-weights: ${problem}`).join("\n"), 1);
