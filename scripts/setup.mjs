#!/usr/bin/env node
/** Everything between a clone and a running command: libtorch, packages, addon, TypeScript; in an installed package, which
 * brings the rest, libtorch and the addon. `npm run setup`, `nudge setup`; `--again` looks for libtorch anew, `--build DIR`
 * builds there and not in build/. Does nothing, and says nothing, when all is done. */
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { checkMachine } from "./setup/machine.mjs";
import { SetupError } from "./setup/report.mjs";

/** Whether a failure needs no stack: one of ours, or the system's (no rights, no space). @param {unknown} error */
const isExpected = (error) => error instanceof SetupError || (error instanceof Error && "syscall" in error);

/** The options; ends the process where they are wrong. */
async function options() {
  const { parseArgs } = await import("node:util");
  try {
    return parseArgs({ options: { again: { type: "boolean" }, build: { type: "string" } } }).values;
  } catch (error) {
    const [problem] = /** @type {Error} */ (error).message.split(". ");
    process.stderr.write(`setup: ${problem} (known: --again, --build DIR)\n`);
    process.exit(2);
  }
}

try {
  checkMachine({ node: process.version, platform: process.platform });
  // Only now: an older Node cannot even link the rest.
  const { again, build } = await options();
  const { setup } = await import("./setup/setup.mjs");
  await setup({ root: dirname(dirname(fileURLToPath(import.meta.url))), build, again });
} catch (error) {
  if (!isExpected(error)) throw error;
  process.stderr.write(`\nsetup: ${/** @type {Error} */ (error).message}\n`);
  process.exitCode = 1;
}
