/** Builds the engine from the command line: for `nudge setup`, or when a verb that computes finds no engine. */

import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { folderToBuildIn, packageRoot } from "../engine/build-folder.js";
import { EngineError } from "../errors.js";

/**
 * Runs set-up to the end, with its messages on stderr, and returns the exit code. It is synchronous, because the addon
 * can be requested in the middle of a computation.
 */
export function runSetup(flags: readonly string[] = []): number {
  const script = join(packageRoot, "scripts/setup.mjs");
  const { status, signal, error } = spawnSync(process.execPath, [script, "--build", folderToBuildIn(), ...flags], {
    stdio: ["ignore", 2, 2],
  });
  if (error) throw new EngineError(`set-up did not start: ${error.message}`, "load", [], { cause: error });
  if (signal) process.stderr.write(`[setup] ended by ${signal}\n`);
  return status ?? 1;
}

/** Builds the engine for a verb that needs it now, and reports that. */
export function buildOnFirstUse(): void {
  process.stderr.write(
    "[setup] the engine has not been built yet. Building it now; this happens once and takes a few minutes (see nudge setup --help)\n",
  );
  if (runSetup() !== 0)
    throw new EngineError(
      "the engine could not be built (see above); fix the problem and run this command again",
      "load",
    );
  process.stderr.write("[setup] the engine is ready\n");
}
