/**
 * The environment of a run: versions, device, commit. On the CPU, the records only depend on the number of threads,
 * which is part of the settings.
 */

import { execFileSync } from "node:child_process";
import { availableParallelism, hostname } from "node:os";
import { fileURLToPath } from "node:url";
import { loadNative } from "../engine/load.js";

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
export function environment(device: string, nudge: string): Environment {
  const native = loadNative();
  const gpu = device.startsWith("cuda") ? native.cudaDevices()[Number(device.split(":")[1] ?? 0)] : undefined;
  return {
    nudge,
    commit: commit(),
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

let known: { readonly commit: string | null } | undefined;

/** Returns the commit of this program if it is a clone, or null if it was installed. Asked once: the program is loaded. */
function commit(): string | null {
  known ??= { commit: askGit() };
  return known.commit;
}

function askGit(): string | null {
  const cwd = fileURLToPath(new URL("../..", import.meta.url));
  const git = (...args: string[]): string =>
    execFileSync("git", args, { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim();
  try {
    return git("ls-files", "package.json") === "" ? null : git("describe", "--always", "--dirty", "--abbrev=12");
  } catch {
    return null;
  }
}
