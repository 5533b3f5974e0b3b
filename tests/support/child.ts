/** A TypeScript file in a Node process of its own: so that a crash is something a test can see, and memory is its own. */

import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

const runner = fileURLToPath(new URL("run-typescript.mjs", import.meta.url));

export interface ChildOptions {
  args?: readonly string[];
  env?: Record<string, string>;
  /** Flags of Node's own, such as `--expose-gc`. */
  flags?: readonly string[];
  /** Bytes the process may have in private memory; asking for more fails there. */
  memoryLimit?: number;
  /** Killed after so many milliseconds. */
  timeout: number;
}

export interface ChildResult {
  /** The exit code; null when a signal ended it. */
  code: number | null;
  signal: NodeJS.Signals | null;
  timedOut: boolean;
  stdout: string;
  stderr: string;
}

/** Runs `file` (a file: URL) to its end, or kills it at the timeout. */
export function runChild(file: URL, options: ChildOptions): Promise<ChildResult> {
  const { args = [], env = {}, flags = [], memoryLimit, timeout } = options;
  const kilobytes = memoryLimit === undefined ? "unlimited" : String(Math.round(memoryLimit / 1024));
  const command = [process.execPath, ...flags, runner, fileURLToPath(file), ...args];
  const child = spawn("sh", ["-c", 'ulimit -d "$1" && shift && exec "$@"', "sh", kilobytes, ...command], {
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const result: ChildResult = { code: null, signal: null, timedOut: false, stdout: "", stderr: "" };
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    result.stdout += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    result.stderr += text;
  });
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      result.timedOut = true;
      child.kill("SIGKILL");
    }, timeout);
    child.on("error", reject);
    child.on("close", (code, signal) => {
      clearTimeout(timer);
      resolve({ ...result, code, signal });
    });
  });
}
