/**
 * Trains two methods on generated pictures, evaluates both on the held-out domain, compares them pair by pair and prints a table.
 * Compile it with `tsc --strict`, then run it with `node compare.js`, or run it directly from Node 24 on: `node compare.ts`.
 */

import { evaluate, type ModelEvaluation, openDataset, pairedModels, train } from "nudge-dg";
import { makeReport, readResults, toMarkdown } from "nudge-dg/report";

const out = process.argv[2] ?? "runs";
const steps = Number(process.argv[3] ?? 120);
const testDomain = "textured";
const dataset = await openDataset("shapes", { options: { perCell: 10, size: 16 } });

/** Trains one method in one trial, and evaluates its model on all pictures of the held-out domain. */
async function run(algorithm: string, trialSeed: number): Promise<ModelEvaluation> {
  using trained = await train({
    dataset,
    testDomains: [testDomain],
    algorithm,
    trialSeed,
    steps,
    evaluateEvery: 20,
    settings: { lr: 3e-3, batchSize: 8, ...(algorithm === "ERM-NU" && { "nuclear-norm.warmup": 0 }) },
    out, // one run folder each, which the report below reads
    onEvaluation: ([{ step }]) => process.stderr.write(`${algorithm}, trial ${trialSeed}, step ${step}\n`),
  });
  return await evaluate(trained.model, dataset, { domains: [testDomain] });
}

const percent = (share: number): string => (100 * share).toFixed(1);

for (const trialSeed of [0, 1, 2]) {
  const [erm, nu] = [await run("ERM", trialSeed), await run("ERM-NU", trialSeed)];
  const { difference, interval, count } = pairedModels(erm.pictures, nu.pictures); // the same pictures
  const [low, high] = interval.map(percent);
  console.log(`trial ${trialSeed}: ${percent(difference)} points (${low} to ${high}) on ${count} pictures`);
}

// Over trials: accuracy at the selected step, and the paired difference with its interval.
console.log(toMarkdown(makeReport(readResults([out]))));
