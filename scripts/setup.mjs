#!/usr/bin/env node
/**
 * Installs everything between a clone and a running command: libtorch, packages, addon, TypeScript. In an installed
 * package, which contains the rest, only libtorch and the addon. Run it with `npm run setup` or `nudge setup`;
 * `--again` searches for libtorch again, and `--build DIR` builds there instead of in build/. If everything is done it
 * does nothing, and reports that only if it was called directly. Ctrl-C ends it and the programs it runs; finished work
 * is kept.
 */
import { constants } from "node:os";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { checkMachine } from "./setup/machine.mjs";
import { SetupError, say } from "./setup/report.mjs";

/** Whether an error is printed without a stack: one of ours, or of the system (no permission, no space). @param {unknown} error */
const isExpected = (error) => error instanceof SetupError || (error instanceof Error && "syscall" in error);

/** The options. Ends the process if they are wrong. */
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

/** One Ctrl-C may arrive twice, from the terminal and from npm. */
const SAME_MS = 500;

/** The signal that requested a stop, if any. A later signal ends the process immediately. @type {NodeJS.Signals | undefined} */
let stoppedBy;

/** @param {NodeJS.Signals} signal */
const exitCodeOf = (signal) => 128 + constants.signals[signal];

/** @param {(signal: NodeJS.Signals) => boolean} endPrograms */
function listen(endPrograms) {
  let first = 0;
  const stop = (/** @type {NodeJS.Signals} */ signal) => {
    if (stoppedBy && performance.now() - first < SAME_MS) return;
    if (stoppedBy || !endPrograms(signal)) process.exit(tellStopped(signal));
    [stoppedBy, first] = [signal, performance.now()];
  };
  for (const signal of /** @type {const} */ (["SIGINT", "SIGTERM"])) process.on(signal, stop);
}

/** Prints how to continue after a stop; returns the exit code. @param {NodeJS.Signals} signal */
function tellStopped(signal) {
  say(`${signal}: stopped. What is done so far is kept: the same command goes on from there`);
  return exitCodeOf(signal);
}

try {
  checkMachine({ node: process.version, platform: process.platform });
  // Imported only now, because an older Node cannot even parse the rest.
  const { again, build } = await options();
  const [{ setup }, { endPrograms }] = await Promise.all([import("./setup/setup.mjs"), import("./setup/command.mjs")]);
  listen(endPrograms);
  const done = await setup({ root: dirname(dirname(fileURLToPath(import.meta.url))), build, again });
  if (process.env.npm_lifecycle_event === "setup")
    say(done ? "all is ready. Try: npx nudge quickstart" : "all is ready, and nothing had changed");
} catch (error) {
  if (stoppedBy) process.exitCode = tellStopped(stoppedBy);
  else if (!isExpected(error)) throw error;
  else {
    process.stderr.write(`\nsetup: ${/** @type {Error} */ (error).message}\n`);
    process.exitCode = 1;
  }
}
