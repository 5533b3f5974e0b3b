/** Building the engine from the command line: by `nudge setup`, or when a verb that computes finds that there is none. */

import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { folderToBuildIn, packageRoot } from "../engine/build-folder.js";
import { EngineError } from "../errors.js";

/**
 * Runs set-up to its end, with its words on stderr; returns the exit code. It waits as a whole, since an addon is asked for
 * in the middle of a computation.
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

/** Builds the engine for a verb that needs it now, and says so. */
export function buildOnFirstUse(): void {
  process.stderr.write(
    "[setup] the engine has not been built yet: that is done now, once, and takes a minute or a few (nudge setup --help)\n",
  );
  if (runSetup() !== 0)
    throw new EngineError("the engine could not be built, see above; then call this command again", "load");
  process.stderr.write("[setup] the engine is ready\n");
}
