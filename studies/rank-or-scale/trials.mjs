#!/usr/bin/env node
/**
 * How many trials the study's first block needs (docs/study.md, "Trials"): prints the standard deviation over trials of the differences that its two
 * equivalence tests are about, and the smallest number of trials that gives each test a power of 80 % if the true difference is zero. It prints
 * no mean, so that the number of trials does not depend on one.
 *
 *     node studies/rank-or-scale/trials.mjs results/study-pacs.nudge
 */
import { execFileSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { criticalT, withinT } from "../../dist/selection/student-t.js";

const [MARGIN, LEVEL, POWER, LARGEST] = [0.005, 0.05, 0.8, 20];
const PAIRS = [
  ["P2", "ERM-FRO", "ERM-NU"],
  ["P3", "NormERM-NU", "NormERM"],
];

const here = dirname(fileURLToPath(import.meta.url));
const [study] = process.argv.slice(2);
if (!study) {
  process.stderr.write("trials: expected a sweep's folder or a packed study, such as results/study-pacs.nudge\n");
  process.exit(2);
}
const plugins = readdirSync(here).filter((name) => name.endsWith(".mjs") && !["plan.mjs", "trials.mjs"].includes(name));
const compare = PAIRS.flatMap(([, first, second]) => ["--compare", `${first},${second}`]);
const text = execFileSync(
  process.execPath,
  [join(here, "../../bin/nudge.mjs"), "report", study, ...compare, "--json"],
  {
    env: { ...process.env, NUDGE_PLUGINS: plugins.map((name) => join(here, name)).join(delimiter) },
    maxBuffer: 1 << 28,
  },
);

/** The power of two one-sided tests with n trials if the true difference is zero, by the central t distribution. @param {number} sd @param {number} n */
function power(sd, n) {
  const reach = (MARGIN * Math.sqrt(n)) / sd - criticalT(1 - 2 * LEVEL, n - 1);
  return reach <= 0 ? 0 : withinT(reach, n - 1);
}

for (const { first, second, late } of JSON.parse(text.toString()).comparisons) {
  const [name] = PAIRS.find((pair) => pair[1] === first.replace(/ \[.*/, "") && pair[2] === second) ?? [];
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
