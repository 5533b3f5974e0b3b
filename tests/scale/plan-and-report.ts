/**
 * Plans a sweep of some size, reports on one, packs one or tells its status, and prints how long it took and what memory it had at most, as JSON:
 *
 *     node tests/support/run-typescript.mjs tests/scale/plan-and-report.ts plan|report|status|pack FOLDER COUNT
 */

import { algorithms } from "../../src/algorithms/index.js";
import { makePlan } from "../../src/sweep/make-plan.js";

const [what, folder, count] = process.argv.slice(3);

/** Draws enough for `count` runs of all algorithms, four held-out domains and three trials. */
async function plan(): Promise<number> {
  const { growPlan } = await import("../../src/sweep/grow-plan.js");
  const hparams = Math.ceil(Number(count) / (Object.keys(algorithms).length * 4 * 3));
  const made = await makePlan({ given: { data: "shapes", algorithms: "all", hparams } });
  return (await growPlan(folder, made.words, made.runs)).runs;
}

async function report(): Promise<number> {
  const [{ readResults }, { makeReport, reportText }] = await Promise.all([
    import("../../src/report/read-results.js"),
    import("../../src/report/index.js"),
  ]);
  const results = readResults([folder]);
  reportText(makeReport(results), "md");
  return results.stored.length;
}

async function pack(): Promise<number> {
  const { packStudy } = await import("../../src/pack/pack-study.js");
  return packStudy([folder], `${folder}.nudge`).runs;
}

async function status(): Promise<number> {
  const [{ StatusReader }, { statusText }] = await Promise.all([
    import("../../src/run-index/status.js"),
    import("../../src/run-index/status-text.js"),
  ]);
  const found = new StatusReader(folder).read();
  statusText(found);
  return found.counts.done;
}

const begun = performance.now();
const runs = await { plan, report, status, pack }[what as "plan" | "report" | "status" | "pack"]();
const seconds = (performance.now() - begun) / 1000;
const { user, system } = process.cpuUsage();
const bytes = process.resourceUsage().maxRSS * 1024;
process.stdout.write(`${JSON.stringify({ runs, seconds, cpu: (user + system) / 1e6, bytes })}\n`);
