/**
 * The environment of a run: versions, device, commit. On the CPU, the records only depend on the number of threads,
 * which is part of the settings.
 */

import { availableParallelism, hostname } from "node:os";
import { loadNative } from "../engine/load.js";
import { programCommit } from "../files/program-commit.js";

export interface Environment {
  readonly nudge: string;
  readonly commit: string | null;
  readonly node: string;
  readonly libtorch: string;
  readonly platform: string;
  readonly host: string;
  readonly cores: number;
  readonly device: string;
  readonly deviceName: string | null;
  readonly threads: number;
  readonly started: string;
}

/** Returns the environment. `nudge` is the version of the running program. */
export async function environment(device: string, nudge: string): Promise<Environment> {
  const native = loadNative();
  const gpu = device.startsWith("cuda") ? native.cudaDevices()[Number(device.split(":")[1] ?? 0)] : undefined;
  return {
    nudge,
    commit: await programCommit(),
    node: process.version,
    libtorch: native.info().version,
    platform: `${process.platform} ${process.arch}`,
    host: hostname(),
    cores: availableParallelism(),
    device,
    deviceName: gpu?.name ?? null,
    threads: native.threads(),
    started: new Date().toISOString(),
  };
}
