/**
 * Executes runs on the GPUs of this machine. The GPUs are listed without loading the engine, which would take memory on
 * each.
 */

import { execFileSync } from "node:child_process";
import { availableParallelism } from "node:os";
import { UsageError } from "../../errors.js";
import { list, option, whole } from "../../options.js";
import { controlHere } from "./control-here.js";
import { defineLauncher } from "./define-launcher.js";

/**
 * The available GPUs, as CUDA_VISIBLE_DEVICES names them: those in this variable if it is set, otherwise all by their UUIDs, because
 * the driver and CUDA can number them differently.
 */
export function visibleGpus(env: NodeJS.ProcessEnv = process.env): string[] {
  const visible = env.CUDA_VISIBLE_DEVICES;
  if (visible !== undefined) return visible.split(",").flatMap((name) => name.trim() || []);
  try {
    const listed = execFileSync("nvidia-smi", ["--query-gpu=uuid", "--format=csv,noheader"], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
      timeout: 20_000,
      env,
    });
    return listed.split("\n").flatMap((line) => (/^GPU-[\w-]+$/.test(line.trim()) ? [line.trim()] : []));
  } catch {
    return []; // no driver
  }
}

export const gpus = defineLauncher({
  id: "gpus",
  about: "One or several runs per GPU, on all GPUs of this machine.",
  options: {
    per_gpu: option(whole(1), "the number of parallel runs per GPU", { default: 1 }),
    gpus: option(list, "only these GPUs, numbered from 0, such as 0,2 (default: all visible)"),
  },
  launch(context, { per_gpu, gpus: wanted }) {
    const all = visibleGpus();
    if (all.length === 0)
      throw new UsageError(
        "launcher gpus: no GPU is visible here (nvidia-smi lists none, or CUDA_VISIBLE_DEVICES is empty). See nudge doctor, or use --launcher local",
      );
    const numbers = wanted?.map(Number) ?? all.map((_, i) => i);
    const missing = numbers.find((number) => all[number] === undefined);
    if (missing !== undefined)
      throw new UsageError(`launcher gpus: there is no GPU ${missing}; there are ${all.length}, numbered from 0`);
    const slotCount = numbers.length * per_gpu;
    const threads = context.threads(Math.max(1, Math.floor(availableParallelism() / slotCount)));
    // Every GPU gets its first run before any gets a second one.
    const slots = Array.from({ length: per_gpu }, () =>
      numbers.map((number) => ({
        label: `GPU ${number}`,
        device: "cuda",
        threads,
        env: { CUDA_VISIBLE_DEVICES: all[number] },
      })),
    ).flat();
    const each = per_gpu === 1 ? "one run" : `${per_gpu} runs`;
    context.say(`${each} at a time on each of ${numbers.length} GPU${numbers.length === 1 ? "" : "s"}`);
    return controlHere(context, slots);
  },
});
