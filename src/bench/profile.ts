/** The kernels of one training step on a GPU, as `nudge train` runs it, and the time of each. */

import { loadNative } from "../engine/load.js";
import { UsageError } from "../errors.js";
import { type StepOptions, StepRunner, stepsAtOnce, waysOf } from "./step.js";

export interface KernelRow {
  name: string;
  /** Launches per step. */
  launches: number;
  /** Milliseconds per step. */
  ms: number;
}

export interface ProfileResult extends Pick<StepOptions, "backbone" | "batch" | "device"> {
  /** The time of one step without the profiler. */
  ms: number;
  /** The slowest first. */
  kernels: KernelRow[];
}

export function profileStep(options: Pick<StepOptions, "backbone" | "batch" | "device">): ProfileResult {
  const { backbone, batch, device } = options;
  if (device === "cpu") throw new UsageError("bench step --profile lists the kernels of a GPU; add --device cuda:0");
  const way = waysOf(options).find(({ command }) => command !== undefined)!;
  using runner = new StepRunner(options, way);
  runner.run();
  const ms = runner.run();
  const native = loadNative();
  native.profileStart();
  runner.run();
  const steps = stepsAtOnce(device);
  const kernels = native
    .profileStop()
    .map(({ name, count, nanoseconds }) => ({ name, launches: count / steps, ms: nanoseconds / 1e6 / steps }))
    .sort((a, b) => b.ms - a.ms);
  return { backbone, batch, device, ms, kernels };
}
