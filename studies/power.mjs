#!/usr/bin/env node
/**
 * The power of a two-sided test at 5 % on paired differences, one for each trial: the probability that Student's 95 % interval over the trials excludes
 * zero, if differences are normal with this mean and standard deviation.
 *
 *     node studies/power.mjs --difference 1.0 --deviation 1.07 --trials 10
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

/**
 * The probability of an interval that excludes zero. The sample deviation s of n normal values follows the chi distribution with n − 1 degrees of freedom,
 * independently of their mean, so it is the integral over s of the probability that |mean| is above t·s/√n.
 *
 * @param {{ difference: number, deviation: number, trials: number }} expected
 */
export function power({ difference, deviation, trials }) {
  const df = trials - 1;
  const critical = criticalT(0.95, df);
  const shift = (difference / deviation) * Math.sqrt(trials);
  const below = (/** @type {number} */ z) =>
    z < -8 ? 0 : z > 8 ? 1 : 0.5 + Math.sign(z) * integral(density, 0, Math.abs(z), 60);
  // The density of x = √(chi-squared), without its constant, which the second integral gives.
  const weight = (/** @type {number} */ x) => x ** (df - 1) * Math.exp(-(x ** 2) / 2);
  const most = Math.sqrt(df) + 8;
  const excluded = (/** @type {number} */ x) => {
    const limit = (critical * x) / Math.sqrt(df);
    return 1 - below(limit - shift) + below(-limit - shift);
  };
  return integral((x) => weight(x) * excluded(x), 0, most) / integral(weight, 0, most);
}

if (process.argv[1] !== undefined && resolve(process.argv[1]) === fileURLToPath(import.meta.url)) {
  const { values } = parseArgs({
    options: { difference: { type: "string" }, deviation: { type: "string" }, trials: { type: "string" } },
  });
  const [difference, deviation, trials] = [values.difference, values.deviation, values.trials].map(Number);
  if (!(deviation > 0 && trials >= 2 && Number.isFinite(difference))) {
    process.stderr.write("power: expected --difference, --deviation above 0 and --trials of at least 2\n");
    process.exit(2);
  }
  process.stdout.write(`power ${(100 * power({ difference, deviation, trials })).toFixed(0)} %\n`);
}
