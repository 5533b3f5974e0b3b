/** Runs other programs. Their output is captured, and a missing program is a result instead of an exception. */
import { spawn } from "node:child_process";
import { accessSync, constants, statSync } from "node:fs";
import { delimiter, isAbsolute, join } from "node:path";

/** @typedef {Record<string, string | undefined>} Environment */
/** @typedef {{ code: number, stdout: string, output: string }} Result `output` is stdout and stderr as they came. */

/** The running programs. @type {Set<import("node:child_process").ChildProcess>} */
const running = new Set();
let ended = false;

/** Sends a signal to all running programs and starts no more; returns whether any was running. @param {NodeJS.Signals} signal */
export function endPrograms(signal) {
  ended = true;
  for (const child of running) child.kill(signal);
  return running.size > 0;
}

/** Runs a program and waits for its end; `code` is 127 if it could not be started.
 * @param {string} program @param {readonly string[]} args @param {{ cwd?: string, env?: Environment }} [options]
 * @returns {Promise<Result>} */
export function run(program, args, { cwd, env = process.env } = {}) {
  if (ended) return Promise.resolve({ code: 1, stdout: "", output: "stopped\n" });
  return new Promise((resolve) => {
    const child = spawn(program, args, { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
    running.add(child);
    let stdout = "";
    let output = "";
    child.stdout.setEncoding("utf8").on("data", (text) => {
      stdout += text;
      output += text;
    });
    child.stderr.setEncoding("utf8").on("data", (text) => {
      output += text;
    });
    child.on("error", (error) => {
      running.delete(child);
      resolve({ code: 127, stdout, output: `${output}${error.message}\n` });
    });
    child.on("close", (code, signal) => {
      running.delete(child);
      if (signal) output += `ended by ${signal}\n`;
      resolve({ code: code ?? 1, stdout, output });
    });
  });
}

/** The path of a program on `$PATH`, or undefined. @param {string} program @param {Environment} env */
export function which(program, env) {
  const folders = isAbsolute(program) ? [""] : (env.PATH ?? "").split(delimiter).filter(Boolean);
  for (const folder of folders) {
    const path = folder ? join(folder, program) : program;
    try {
      accessSync(path, constants.X_OK);
      if (statSync(path).isFile()) return path;
    } catch {
      // not in this folder
    }
  }
  return undefined;
}

/** The last lines of an output, for an error. @param {string} output @param {number} count */
export function lastLines(output, count) {
  return output.trimEnd().split("\n").slice(-count).join("\n");
}

/** The first lines of an output, because npm prints the reason first. @param {string} output @param {number} count */
export function firstLines(output, count) {
  return output.trimEnd().split("\n").slice(0, count).join("\n");
}
