/** The calibrated values of the study's penalties (docs/study.md, "How the constants were set"), from the runs of a calibration. */
import { CALIBRATED } from "./blocks.mjs";
import { lateMeasure, mean } from "./study.mjs";

/** The largest loss of validation accuracy against ERM, for values that are set by accuracy. */
const LOSS = 0.01;

/**
 * The values of a row that were run, in increasing order, each with its means over held-out domains.
 *
 * @param {readonly import("./study.mjs").Run[]} runs @param {string} name @param {string} setting
 */
function pointsOf(runs, name, setting) {
  const own = runs.filter(({ method }) => method === name);
  const values = [...new Set(own.map((run) => run.values[setting] ?? 0))].sort((a, b) => a - b);
  return values.map((value) => {
    const same = own.filter((run) => (run.values[setting] ?? 0) === value);
    const accuracies = same.map(({ late, heldOut }) =>
      mean(
        late
          .filter(({ metric, split, domain }) => metric === "accuracy" && split === "out" && domain !== heldOut)
          .map(({ value }) => value),
      ),
    );
    return {
      ...{ name, value, heldOut: same.map(({ heldOut }) => heldOut).sort() },
      norm: mean(same.map((run) => lateMeasure(run, "frobeniusNorm"))),
      accuracy: mean(accuracies),
    };
  });
}

/** @typedef {ReturnType<typeof pointsOf>[number]} Point */

/** The value at which the norm is the target, interpolated in logarithms between the first two points around it; undefined if there are none. @param {readonly Point[]} points @param {number} target */
function interpolated(points, target) {
  const right = points.findIndex(({ norm }, i) => i > 0 && (norm - target) * (points[i - 1].norm - target) <= 0);
  if (right < 0) return undefined;
  const [from, to] = [points[right - 1], points[right]];
  const share = Math.log(target / from.norm) / Math.log(to.norm / from.norm);
  return from.value * (to.value / from.value) ** share;
}

/**
 * What was measured, the values that follow, and for each row without one the reason.
 *
 * @param {readonly import("./study.mjs").Run[]} runs
 * @returns {{ points: Point[], weights: Record<string, number>, problems: string[] }}
 */
export function calibrate(runs) {
  const [erm] = pointsOf(runs, "ERM", "");
  const [nu] = pointsOf(runs, "ERM-NU", "nuclear-norm.weight");
  if (!nu) return { points: [], weights: {}, problems: ["expected finished runs of ERM-NU; see docs/study.md"] };
  const all = [...(erm ? [erm] : []), nu];
  /** @type {Record<string, number>} */
  const weights = {};
  /** @type {string[]} */
  const problems = [];
  for (const { name, setting = "", by } of CALIBRATED) {
    const points = pointsOf(runs, name, setting);
    if (points.length === 0) continue;
    all.push(...points);
    const partial = points.find(({ heldOut }) => heldOut.join() !== nu.heldOut.join());
    const norms = points.map(({ norm }) => norm.toFixed(1)).join(", ");
    const value =
      by === "scale"
        ? interpolated(points, nu.norm)
        : points.filter(({ accuracy }) => erm && accuracy >= erm.accuracy - LOSS).at(-1)?.value;
    if (partial)
      problems.push(
        `${name} ${partial.value} has runs with ${partial.heldOut.join(", ")} held out and ERM-NU with ${nu.heldOut.join(", ")}; run the rest of the sweep first`,
      );
    else if (value === undefined)
      problems.push(
        by === "scale"
          ? `${name} is not matched: its ‖F‖_F is ${norms}, and ERM-NU's, ${nu.norm.toFixed(1)}, is not between two of these; calibrate it with other --values`
          : `${name} is more than ${100 * LOSS} point below ERM with every value, or ERM has no runs; calibrate it with smaller --values`,
      );
    else weights[name] = Number(value.toPrecision(2));
  }
  return { points: all, weights, problems };
}
