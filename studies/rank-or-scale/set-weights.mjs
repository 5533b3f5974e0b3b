#!/usr/bin/env node
/**
 * Sets the weights of the study's penalties for a dataset (docs/study.md, block 2), from a finished calibration sweep:
 *
 *     node studies/rank-or-scale/set-weights.mjs sweeps/calibration-office31
 *
 * FRO: the weight at which ‖F‖_F on validation pictures is that of ERM-NU, interpolated in logarithms. RATIO: the largest weight at which
 * accuracy on validation pictures of the training domains is at most one point below ERM's. Both are means over the held-out domains and
 * over the evaluations of the second half of training. Accuracy on held-out domains is neither used nor printed.
 */
import { lateMeasure, mean, runsOf, stop } from "./study.mjs";

const LOSS = 0.01;

const [sweep] = process.argv.slice(2);
if (!sweep) stop("set-weights: expected the folder of a calibration sweep, such as sweeps/calibration-office31");

const runs = runsOf(sweep);

/** The settings of a method that were run, from the smallest weight to the largest, each with its means over held-out domains. @param {string} method */
function settingsOf(method) {
  const own = runs.filter((run) => run.method === method);
  const weights = [...new Set(own.map(({ weight }) => weight ?? 0))].sort((a, b) => a - b);
  return weights.map((weight) => {
    const same = own.filter((run) => (run.weight ?? 0) === weight);
    const accuracies = same.map(({ late, heldOut }) =>
      mean(
        late
          .filter(({ metric, split, domain }) => metric === "accuracy" && split === "out" && domain !== heldOut)
          .map(({ value }) => value),
      ),
    );
    return {
      ...{ method, weight, heldOut: same.map(({ heldOut }) => heldOut).sort() },
      norm: mean(same.map((run) => lateMeasure(run, "frobeniusNorm"))),
      accuracy: mean(accuracies),
    };
  });
}

const [[erm], [nu], fro, ratio] = ["ERM", "ERM-NU", "ERM-FRO", "ERM-RATIO"].map(settingsOf);
if (!erm || !nu || fro.length < 2 || ratio.length === 0)
  stop(
    "set-weights: expected finished runs of ERM, ERM-NU, ERM-FRO with two weights or more, and ERM-RATIO; see docs/study.md",
    1,
  );
const settings = [erm, nu, ...fro, ...ratio];
for (const { method, weight, norm, accuracy, heldOut } of settings)
  process.stdout.write(
    `${method}${weight > 0 ? ` ${weight}` : ""}: ‖F‖_F ${norm.toFixed(1)}, validation accuracy ${(100 * accuracy).toFixed(2)} %, ${heldOut.length} runs\n`,
  );
const partial = settings.find(({ heldOut }) => heldOut.join() !== erm.heldOut.join());
if (partial)
  stop(
    `set-weights: ${partial.method} ${partial.weight} has runs with ${partial.heldOut.join(", ")} held out and ERM with ${erm.heldOut.join(", ")}; run the rest of the sweep first`,
    1,
  );

// Between the first weight whose norm is at most ERM-NU's and the one before it; outside the weights, from the nearest two.
const reached = fro.findIndex(({ norm }, i) => i > 0 && norm <= nu.norm);
const right = reached < 0 ? fro.length - 1 : reached;
const [from, to] = [fro[right - 1], fro[right]];
const share = Math.log(nu.norm / from.norm) / Math.log(to.norm / from.norm);
if (!(share >= 0 && share <= 1))
  process.stdout.write("The norm of ERM-NU is outside those of ERM-FRO, so its weight is an extrapolation.\n");
const frobenius = Number((from.weight * (to.weight / from.weight) ** share).toPrecision(2));
const allowed = ratio.filter(({ accuracy }) => accuracy >= erm.accuracy - LOSS);
if (allowed.length === 0)
  stop(`set-weights: ERM-RATIO is more than ${100 * LOSS} point below ERM with every weight; plan smaller ones`, 1);
process.stdout.write(`{ frobenius: ${frobenius}, ratio: ${allowed.at(-1)?.weight} }\n`);
