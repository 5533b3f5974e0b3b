#!/usr/bin/env node
/**
 * The learning check: every algorithm on the generated pictures, every domain held out in turn, with default
 * hyperparameters, a few runs at a time with one thread each. What is there already is not run again.
 *
 *     node scripts/learning-table.mjs [OUT] [JOBS] [TRIALS] && npx nudge report OUT
 */
import { spawn, spawnSync } from "node:child_process";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";

const [out = "runs/learning", jobs = String(availableParallelism()), trials = "3"] = process.argv.slice(2);
const nudge = fileURLToPath(new URL("../bin/nudge.mjs", import.meta.url));
const listed = spawnSync(process.execPath, [nudge, "list", "algorithms", "--json"], { encoding: "utf8" });
/** @type {{ id: string }[]} */
const algorithms = JSON.parse(listed.stdout);

const runs = Array.from({ length: Number(trials) }, (_, trial) =>
  ["filled", "outlined", "textured", "inverted"].map((domain) => algorithms.map(({ id }) => ({ id, domain, trial }))),
).flat(2);
const settings = ["--backbone", "small-cnn", "--batch-size", "16", "--steps", "201", "--eval-every", "100"];
let failed = 0;

async function worker() {
  for (let run = runs.shift(); run; run = runs.shift()) {
    const { id, domain, trial } = run;
    const data = [
      "--data",
      "shapes",
      "--test-domain",
      domain,
      "--trial-seed",
      String(trial),
      "data.cue=0.7",
      "data.perCell=50",
    ];
    const args = [nudge, "train", ...data, "--algorithm", id, ...settings, "--threads", "1", "--out", out, "--quiet"];
    const env = { ...process.env, OMP_NUM_THREADS: "1" };
    const code = await new Promise((resolve) => {
      spawn(process.execPath, args, { stdio: ["ignore", "ignore", "inherit"], env }).on("close", resolve);
    });
    if (code !== 0) failed++;
    process.stderr.write(
      `${id}, ${domain} held out, trial ${trial}: ${code === 0 ? "done" : `failed (exit ${code})`}\n`,
    );
  }
}

await Promise.all(Array.from({ length: Number(jobs) }, worker));
process.exitCode = failed === 0 ? 0 : 1;
