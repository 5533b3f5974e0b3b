/**
 * The environment of a run: versions, device, commit. On the CPU, the records only depend on the number of threads,
 * which is part of the settings.
 */

import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { availableParallelism, hostname } from "node:os";
import { join } from "node:path";
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

/** The commit of this program, or null if it was installed from a package. Asked once: the program is loaded. */
function commit(): string | null {
  known ??= { commit: commitOf(fileURLToPath(new URL("../..", import.meta.url))) };
  return known.commit;
}

/** The file in a portable archive that names the commit it was made from (scripts/pack-portable.mjs). */
const COMMIT_FILE = "commit.txt";

/** The commit of a program in a folder: of the clone, or of the clone that a portable archive was made from. */
export function commitOf(folder: string): string | null {
  const git = (...args: string[]): string =>
    execFileSync("git", args, { cwd: folder, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim();
  try {
    return readFileSync(join(folder, COMMIT_FILE), "utf8").trim() || null;
  } catch {
    // not from an archive
  }
  try {
    return git("ls-files", "package.json") === "" ? null : git("describe", "--always", "--dirty", "--abbrev=12");
  } catch {
    return null;
  }
}
