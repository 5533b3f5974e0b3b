/**
 * Loads the addon, once, when the first verb that computes asks for it: libtorch takes about a second to come up, and
 * `nudge --help` must not pay for it.
 */

import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { EngineError } from "../errors.js";
import type { Native } from "./native.js";

/** Where the set-up puts the addon: `build/nudge.node` at the package's root; `$NUDGE_ADDON` names another. */
export function addonPath(): string {
  return process.env.NUDGE_ADDON ?? fileURLToPath(new URL("../../build/nudge.node", import.meta.url));
}

/** The addon, once loaded: the generated operators call through this without asking each time. */
export let native: Native;

/** The addon; loads it on the first call. Throws an EngineError that says what to do when it cannot. */
export function loadNative(): Native {
  if (native) return native;
  const path = addonPath();
  if (!existsSync(path)) {
    throw new EngineError(`the engine has not been built: ${path} is missing. Try: npm run setup`, "load");
  }
  let addon: Native;
  try {
    addon = createRequire(import.meta.url)(path) as Native;
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new EngineError(`the engine does not load: ${why}. Try: npm run setup, then nudge doctor`, "load", [], {
      cause,
    });
  }
  addon.setErrorClass(EngineError);
  // Debian's libtorch starts with one thread whatever the machine has.
  addon.setThreads(positive("NUDGE_THREADS") ?? positive("OMP_NUM_THREADS") ?? availableParallelism());
  const gigabytes = positive("NUDGE_MEMORY_GB");
  if (gigabytes) addon.setMemoryLimit(Math.round(gigabytes * 1e9));
  native = addon;
  return native;
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
