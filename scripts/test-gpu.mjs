#!/usr/bin/env node
/**
 * The script of `npm run test:gpu`, for everything that needs a GPU. First the self-test of `nudge doctor --device cuda
 * --full` (kernels, every algorithm as it is trained, replayed updates, resumes, memory), then the test files with
 * cases for a GPU. Without a GPU that libtorch can use, it says so and succeeds: nothing was tested, and nothing
 * failed.
 */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname, "..");
const nudge = join(root, "bin/nudge.cjs");

/** Tests with additional or different cases on a GPU. */
const FILES = [
  "src/algorithms/arm.test.ts",
  "src/engine/cuda-graph.test.ts",
  "src/engine/device.test.ts",
  "src/engine/many-tensors.test.ts",
  "src/engine/tensor.test.ts",
  "src/nn/fused.test.ts",
  "src/nn/depthwise.test.ts",
  "src/nn/fused-kernels.test.ts",
  "src/nn/second-derivatives.test.ts",
  "src/training/self-test.test.ts",
  "src/training/stop-and-go-on.test.ts",
  "tests/parity/augment.test.ts",
];

/** @param {string} program @param {string[]} args */
function run(program, args) {
  const { status } = spawnSync(program, args, { cwd: root, stdio: "inherit" });
  if (status !== 0) process.exit(1);
}

const doctor = spawnSync(process.execPath, [nudge, "doctor", "--json"], { cwd: root, encoding: "utf8" });
/** @type {{ engine: { gpus: { name: string }[] } | null, problems: { what: string }[] }} */
const { engine, problems } = JSON.parse(doctor.stdout);
if (!engine) {
  process.stdout.write(`the engine does not load: ${problems.map(({ what }) => what).join("; ")}\n`);
  process.exit(1);
}
if (engine.gpus.length === 0) {
  process.stdout.write(
    "skipped: there is no GPU that libtorch can use here, so nothing was tested (see nudge doctor)\n",
  );
  process.exit(0);
}
run(process.execPath, [nudge, "doctor", "--device", "cuda", "--full"]);
const vitest = join(root, "node_modules/.bin/vitest");
if (existsSync(vitest)) run(vitest, ["run", ...FILES]);
else process.stdout.write("the test files were skipped: vitest is not installed (npm ci installs it)\n");
