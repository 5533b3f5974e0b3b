/** The text output of a benchmark's command, from its stored JSON output. */
import { algorithmsText } from "../../dist/cli/bench-algorithms.js";
import { dataText } from "../../dist/cli/bench-data.js";
import { loaderText } from "../../dist/cli/bench-loader.js";
import { nuclearNormText } from "../../dist/cli/bench-nuclear-norm.js";
import { opsText } from "../../dist/cli/bench-ops.js";
import { runsLines } from "../../dist/cli/bench-runs.js";
import { stepText } from "../../dist/cli/bench-step.js";
import { parallelSweepText, sweepText } from "../../dist/cli/bench-sweep.js";
import { trainText } from "../../dist/cli/bench-train.js";

/** By the first part of a benchmark's name. @type {[RegExp, (result: any) => string][]} */
const TEXTS = [
  [/^ops$/, opsText],
  [/^nuclear-norm$/, nuclearNormText],
  [/^loader$/, loaderText],
  [/^sweep$/, sweepText],
  [/^sweep-parallel$/, parallelSweepText],
  [/^runs$/, (result) => runsLines(result).join("\n")],
  [/^data$/, dataText],
  [/^algorithms$/, algorithmsText],
  [/^step-/, stepText],
  [/^train-/, trainText],
];

/** @param {string} name as in list.mjs @param {unknown} result */
export function textOf(name, result) {
  const found = TEXTS.find(([pattern]) => pattern.test(name));
  if (!found) throw new Error(`benchmark ${name}: not one of list.mjs`);
  return found[1](result);
}
