/**
 * Loads the addon when it is first needed: libtorch takes about a second to start, which `nudge --help` should avoid.
 */

import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { EngineError } from "../errors.js";
import { askProgramCommit } from "../files/program-commit.js";
import { buildFolder } from "./build-folder.js";
import { defaultThreads } from "./default-threads.js";
import type { Native } from "./native.js";
import { positiveVariable } from "./positive-variable.js";

/** Returns the path of the addon, `nudge.node` in the build folder. `$NUDGE_ADDON` overrides it. */
export function addonPath(): string {
  return process.env.NUDGE_ADDON ?? join(buildFolder(), "nudge.node");
}

/** The number of spins before a waiting thread sleeps. */
const SPINS = "2000";

let buildMissing: (() => void) | undefined;

/**
 * Registers a function that builds the addon if it is missing. The command line uses it. A library must not start a
 * compiler.
 */
export function onMissingAddon(build: () => void): void {
  buildMissing = build;
}

/** The addon, after it has been loaded. The generated operators use it directly. */
export let native: Native;

/** Returns the addon and loads it on the first call. If that fails, it throws an EngineError with instructions. */
export function loadNative(): Native {
  if (native) return native;
  if (!existsSync(addonPath()) && process.env.NUDGE_ADDON === undefined) buildMissing?.();
  const path = addonPath();
  if (!existsSync(path)) {
    throw new EngineError(`the engine has not been built: ${path} is missing. Try: npx nudge setup`, "load");
  }
  limitSpinning();
  askProgramCommit(); // no process is started once libtorch is loaded
  let addon: Native;
  try {
    addon = createRequire(import.meta.url)(path) as Native;
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new EngineError(`the engine does not load: ${why}. Try: npx nudge setup, then npx nudge doctor`, "load", [], {
      cause,
    });
  }
  addon.setErrorClass(EngineError);
  // Debian's libtorch starts with one thread on every machine.
  addon.setThreads(defaultThreads());
  const gigabytes = positiveVariable("NUDGE_MEMORY_GB");
  if (gigabytes) addon.setMemoryLimit(Math.round(gigabytes * 1e9));
  // The number of plans that cuDNN times for each convolution. By default it times none and uses its first choice.
  const trials = positiveVariable("NUDGE_CUDNN_TRIALS");
  if (trials) addon.setCudnnTrials(Math.round(trials));
  native = addon;
  return native;
}

/** Loads the addon if it has been built. For work that is faster with the addon but does not need it. */
export function loadIfBuilt(): void {
  if (native || !existsSync(addonPath())) return;
  try {
    loadNative();
  } catch (error) {
    if (!(error instanceof EngineError)) throw error;
  }
}

/**
 * Makes waiting threads sleep after a short time of spinning. By default libgomp spins for milliseconds, and on shared
 * cores a spinning thread keeps the thread that it waits for from running: 61 steps of a small network on two busy
 * cores took 66 s, and 2.2 s with this setting. On idle cores a step takes about the same time either way. libgomp
 * reads its environment when it is loaded, so this must be set before.
 */
function limitSpinning(): void {
  if (process.env.OMP_WAIT_POLICY === undefined) process.env.GOMP_SPINCOUNT ??= SPINS;
}

/** Runs `body` while the operators call `replacement` instead of the addon, in order to record them. */
export function withNative<T>(replacement: Native, body: () => T): T {
  const before = loadNative();
  native = replacement;
  try {
    return body();
  } finally {
    native = before;
  }
}

/**
 * Returns the id of an operator in the addon. `expected` contains the argument names in the order in which the caller
 * passes them. A newer libtorch may append arguments with defaults. Any other difference is an error, to avoid a wrong
 * call.
 */
export function resolveOperator(name: string, overload: string, expected?: string): number {
  const addon = loadNative();
  const id = addon.resolve(name, overload);
  if (expected !== undefined) {
    const names = addon.schema(id).arguments.map((argument) => argument.name);
    const wanted = expected === "" ? [] : expected.split(" ");
    if (wanted.some((argument, i) => names[i] !== argument)) {
      throw new EngineError(
        `${name}.${overload} takes (${names.join(", ")}) in this libtorch; expected (${wanted.join(", ")})`,
        name,
      );
    }
  }
  return id;
}
