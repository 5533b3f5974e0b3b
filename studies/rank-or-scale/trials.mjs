#!/usr/bin/env node
/**
 * How many trials the study's first block needs (docs/study.md, "Trials"): prints the standard deviation over trials of the differences that its two
 * equivalence tests are about, and the smallest number of trials that gives each test a power of 80 % if the true difference is zero. It prints
 * no mean, so that the number of trials does not depend on one.
 *
 *     node studies/rank-or-scale/trials.mjs results/study-pacs.nudge
 */
import { criticalT, withinT } from "../../dist/selection/student-t.js";
import { COMPARISONS, MARGIN, reportOn, stop, withoutSettings } from "./study.mjs";

const [LEVEL, POWER, LARGEST] = [0.05, 0.8, 20];
const tested = COMPARISONS.filter(({ name }) => ["P2", "P3"].includes(name));

const [study] = process.argv.slice(2);
if (!study) stop("trials: expected a sweep's folder or a packed study, such as results/study-pacs.nudge");

/** The power of two one-sided tests with n trials if the true difference is zero, by the central t distribution. @param {number} sd @param {number} n */
function power(sd, n) {
  const reach = ((MARGIN / 100) * Math.sqrt(n)) / sd - criticalT(1 - 2 * LEVEL, n - 1);
  return reach <= 0 ? 0 : withinT(reach, n - 1);
}

for (const { first, second, late } of reportOn(study, tested).comparisons) {
  const name = tested.find((pair) => pair.first === withoutSettings(first) && pair.second === second)?.name;
  const all = late?.find((/** @type {{ domain: string | null }} */ row) => row.domain === null);
  if (!name || !all) continue;
  if (all.trials < 5) {
    process.stdout.write(
      `${name}: ${first} − ${second}: ${all.trials} trials so far; the design asks for five first\n`,
    );
    continue;
  }
  const sd = all.error * Math.sqrt(all.trials);
  let n = 5;
  while (n < LARGEST && power(sd, n) < POWER) n++;
  const words = `standard deviation ${(100 * sd).toFixed(2)} points over ${all.trials} trials`;
  const reached = power(sd, n) >= POWER ? "" : `; their power is ${Math.round(100 * power(sd, n))} % only`;
  process.stdout.write(`${name}: ${first} − ${second}: ${words}, so ${n} trials${reached}\n`);
}
