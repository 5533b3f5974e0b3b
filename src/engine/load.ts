/**
 * Loads the addon, once, when the first verb that computes asks for it: libtorch takes about a second to come up, and
 * `nudge --help` must not pay for it.
 */

import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { EngineError } from "../errors.js";
import { buildFolder } from "./build-folder.js";
import type { Native } from "./native.js";

/** Where the set-up puts the addon, `nudge.node` in the build folder; `$NUDGE_ADDON` names another. */
export function addonPath(): string {
  return process.env.NUDGE_ADDON ?? join(buildFolder(), "nudge.node");
}

/** How often a waiting thread looks before it sleeps. */
const SPINS = "2000";

let buildMissing: (() => void) | undefined;

/** Says what to do where the addon is missing. The command line has it built; a library must not start a compiler. */
export function whenAddonIsMissing(build: () => void): void {
  buildMissing = build;
}

/** The addon, once loaded: the generated operators call through this without asking each time. */
export let native: Native;

/** The addon; loads it on the first call. Throws an EngineError that says what to do when it cannot. */
export function loadNative(): Native {
  if (native) return native;
  if (!existsSync(addonPath()) && process.env.NUDGE_ADDON === undefined) buildMissing?.();
  const path = addonPath();
  if (!existsSync(path)) {
    throw new EngineError(`the engine has not been built: ${path} is missing. Try: npx nudge setup`, "load");
  }
  quietWaiting();
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
  // Debian's libtorch starts with one thread whatever the machine has.
  addon.setThreads(positive("NUDGE_THREADS") ?? positive("OMP_NUM_THREADS") ?? availableParallelism());
  const gigabytes = positive("NUDGE_MEMORY_GB");
  if (gigabytes) addon.setMemoryLimit(Math.round(gigabytes * 1e9));
  // How many plans cuDNN times for each convolution; by default none, and its first choice is taken.
  const trials = positive("NUDGE_CUDNN_TRIALS");
  if (trials) addon.setCudnnTrials(Math.round(trials));
  native = addon;
  return native;
}

/** Loads the addon where it is built and loads: for work that is faster with it, and that can be done without. */
export function loadIfBuilt(): void {
  if (native || !existsSync(addonPath())) return;
  try {
    loadNative();
  } catch (error) {
    if (!(error instanceof EngineError)) throw error;
  }
}

/**
 * Has threads that wait for each other sleep after a short while of spinning. By default libgomp spins for milliseconds,
 * and where the cores are shared a thread that spins keeps the one it waits for from running: 61 steps of a small network
 * on two busy cores took 66 s, with this 2.2 s. On quiet cores a step takes about as long either way. libgomp reads its
 * environment as it is loaded, so this comes before.
 */
function quietWaiting(): void {
  if (process.env.OMP_WAIT_POLICY === undefined) process.env.GOMP_SPINCOUNT ??= SPINS;
}

/** Runs `body` while the operators call `replacement` in place of the addon: to record them. */
export function throughNative<T>(replacement: Native, body: () => T): T {
  const before = loadNative();
  native = replacement;
  try {
    return body();
  } finally {
    native = before;
  }
}

function positive(variable: string): number | undefined {
  const value = Number(process.env[variable]);
  return value > 0 ? value : undefined;
}

/**
 * The number of an operator in the addon. `expected` holds the argument names the caller passes in order: a newer
 * libtorch may append arguments with defaults, and anything else is an error rather than a wrong call.
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
