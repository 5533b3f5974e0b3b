#!/usr/bin/env node
/** Everything between a clone and a running command: libtorch, packages, addon, TypeScript. `npm run setup`; `--again`
 * looks for libtorch anew. Does nothing, and says nothing, when all is done. */
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { checkMachine } from "./setup/machine.mjs";
import { SetupError } from "./setup/report.mjs";

/** Whether a failure needs no stack: one of ours, or the system's (no rights, no space). @param {unknown} error */
const isExpected = (error) => error instanceof SetupError || (error instanceof Error && "syscall" in error);

const unknown = process.argv.slice(2).filter((argument) => argument !== "--again");
if (unknown.length > 0) {
  process.stderr.write(`setup: unknown argument "${unknown[0]}" (known: --again)\n`);
  process.exit(2);
}
try {
  checkMachine({ node: process.version, platform: process.platform });
  // Only now: an older Node cannot even link the rest.
  const { setup } = await import("./setup/setup.mjs");
  await setup({ root: dirname(dirname(fileURLToPath(import.meta.url))), again: process.argv.includes("--again") });
} catch (error) {
  if (!isExpected(error)) throw error;
  process.stderr.write(`\nsetup: ${/** @type {Error} */ (error).message}\n`);
  process.exitCode = 1;
}
