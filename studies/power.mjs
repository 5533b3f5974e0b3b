#!/usr/bin/env node
/**
 * The power of a two-sided test at 5 % on paired differences, one for each trial: the probability that Student's 95 % interval over the trials excludes
 * zero, if differences are normal with this mean and standard deviation.
 *
 *     node studies/power.mjs --difference 1.0 --deviation 1.07 --trials 10
 *     node studies/power.mjs --margin 0.5 --deviation 0.58 --trials 5
 *
 * With a margin, it is the power of showing equivalence: the probability that the 90 % interval lies within ± the margin if the true difference is zero.
 */
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { criticalT } from "../dist/selection/student-t.js";

/** The density of the standard normal distribution. @param {number} z */
const density = (z) => Math.exp(-(z ** 2) / 2) / Math.sqrt(2 * Math.PI);

/** The integral of a smooth function by Simpson's rule. @param {(x: number) => number} of @param {number} from @param {number} to */
function integral(of, from, to, pieces = 2000) {
  const width = (to - from) / pieces;
  let total = of(from) + of(to);
  for (let i = 1; i < pieces; i++) total += (i % 2 === 1 ? 4 : 2) * of(from + i * width);
  return (total * width) / 3;
}

/** The probability that a standard normal value is below z. @param {number} z */
const below = (z) => (z < -8 ? 0 : z > 8 ? 1 : 0.5 + Math.sign(z) * integral(density, 0, Math.abs(z), 60));

/**
 * The mean of a probability that depends on the sample deviation s = x/√df of normal values with deviation 1: √df·s follows the chi distribution,
 * independently of the mean.
 *
 * @param {number} df @param {(s: number) => number} given
 */
function overDeviations(df, given) {
  const weight = (/** @type {number} */ x) => x ** (df - 1) * Math.exp(-(x ** 2) / 2); // the density, without its constant
  const most = Math.sqrt(df) + 8;
  return integral((x) => weight(x) * given(x / Math.sqrt(df)), 0, most) / integral(weight, 0, most);
}

/** The probability that the 95 % interval excludes zero. @param {{ difference: number, deviation: number, trials: number }} expected */
export function power({ difference, deviation, trials }) {
  const critical = criticalT(0.95, trials - 1);
  const shift = (difference / deviation) * Math.sqrt(trials);
  return overDeviations(trials - 1, (s) => 1 - below(critical * s - shift) + below(-critical * s - shift));
}

/** The probability that the 90 % interval lies within ± the margin, if the true difference is zero. @param {{ margin: number, deviation: number, trials: number }} expected */
export function equivalencePower({ margin, deviation, trials }) {
  const critical = criticalT(0.9, trials - 1);
  const edge = (margin / deviation) * Math.sqrt(trials);
  return overDeviations(trials - 1, (s) => Math.max(0, 2 * below(edge - critical * s) - 1));
}

if (process.argv[1] !== undefined && resolve(process.argv[1]) === fileURLToPath(import.meta.url)) {
  const names = /** @type {const} */ (["difference", "margin", "deviation", "trials"]);
  const { values } = parseArgs({ options: Object.fromEntries(names.map((name) => [name, { type: "string" }])) });
  const [difference, margin, deviation, trials] = names.map((name) => Number(values[name]));
  const isEquivalence = values.margin !== undefined;
  if (!(deviation > 0 && trials >= 2 && (isEquivalence ? margin > 0 : Number.isFinite(difference)))) {
    process.stderr.write("power: expected --difference or --margin, --deviation above 0, and --trials of at least 2\n");
    process.exit(2);
  }
  const value = isEquivalence
    ? equivalencePower({ margin, deviation, trials })
    : power({ difference, deviation, trials });
  process.stdout.write(`power ${(100 * value).toFixed(0)} %\n`);
}
