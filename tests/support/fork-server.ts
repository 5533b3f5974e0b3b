/**
 * Starts the command line in processes that are forked from one that has loaded libtorch already: a start takes hundredths of a
 * second instead of a second, and a test can kill a process a thousand times. It needs Linux, g++, and a dist/ that matches
 * the sources (`npm run setup`); elsewhere each start is one of startNudge().
 */

import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { constants, tmpdir } from "node:os";
import { join } from "node:path";
import type { Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { RESUMABLE } from "../../src/cli/failure.js";
import { distIsCurrent, type Started, startNudge } from "./start-nudge.js";

const here = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

/**
 * V8 still gives its threads some work of a garbage collection, and waits forever when it has woken as many as there were before
 * the fork; so there are more than a short process wakes.
 */
const FLAGS = ["--single-threaded", "--v8-pool-size=200"];

export interface ForkServer extends AsyncDisposable {
  /** Starts a process; one at a time. */
  start(args: readonly string[]): Forked;
  /** Runs a command in the server itself and interrupts it at a text in its output, so that it is quick in the processes after it. */
  warmUp(args: readonly string[], until: string): Promise<void>;
}

export type Forked = Omit<Started, "process">;

export function forkServer(): ForkServer {
  const folder = mkdtempSync(join(tmpdir(), "nudge-fork-"));
  const addon = join(folder, "fork.node");
  const headers = here("../../node_modules/node-api-headers/include");
  const build = (): boolean =>
    spawnSync("g++", ["-std=c++17", "-O1", "-shared", "-fPIC", `-I${headers}`, "-o", addon, here("fork.cc")]).status ===
    0;
  if (process.platform !== "linux" || !distIsCurrent || !build()) {
    console.warn("each process is started from scratch, which is slow: Linux, g++ and `npm run setup` make it faster");
    rmSync(folder, { recursive: true });
    return { start: startNudge, warmUp: async () => {}, [Symbol.asyncDispose]: async () => {} };
  }
  const server = spawn(process.execPath, [...FLAGS, here("fork-server.mjs"), addon], {
    stdio: ["ignore", "ignore", "pipe", "pipe"],
  });
  const commands = server.stdio[3] as Writable;
  commands.on("error", () => {}); // the server has ended, which each start reports
  return {
    start: (args) => startIn(server, { args }),
    async warmUp(args, until) {
      const { code, stderr } = await startIn(server, { args, until }).ended;
      if (code !== RESUMABLE) throw new Error(`expected a command that can be interrupted, got: ${stderr}`);
    },
    async [Symbol.asyncDispose]() {
      const ended = new Promise((done) => server.once("close", done));
      commands.end();
      await ended;
      rmSync(folder, { recursive: true });
    },
  };
}

const nameOf = (signal: number): NodeJS.Signals =>
  (Object.entries(constants.signals).find(([, number]) => number === signal)?.[0] ?? "SIGKILL") as NodeJS.Signals;

function startIn(server: ChildProcess, command: { args: readonly string[]; until?: string }): Forked {
  let stderr = "";
  let pid: number | undefined;
  let doomed: NodeJS.Signals | undefined;
  let end: number | undefined;
  const waiting = new Set<() => void>();
  const look = (text: string): void => {
    stderr += text;
    stderr = stderr.replace(/\0(\{.*\})\n/g, (_, fact: string) => {
      const found: { pid?: number; end?: number } = JSON.parse(fact);
      pid ??= found.pid;
      end ??= found.end;
      return "";
    });
    if (pid !== undefined && end === undefined && doomed) process.kill(pid, doomed);
    for (const each of waiting) each();
  };
  const until = <T>(answer: () => T | undefined): Promise<T> =>
    new Promise((done) => {
      const ask = (): void => {
        const found = answer();
        if (found === undefined) return;
        waiting.delete(ask);
        done(found);
      };
      waiting.add(ask);
      ask();
    });
  const lost = (): void => {
    end ??= 1;
    look("\nthe server that forks has ended");
  };
  server.stderr!.setEncoding("utf8").on("data", look);
  if (server.exitCode !== null || server.signalCode !== null) lost();
  server.once("close", lost);
  (server.stdio[3] as Writable).write(`${JSON.stringify(command)}\n`);
  const ended = until(() => end).then((found) => {
    server.stderr!.off("data", look);
    server.off("close", lost);
    return { code: found < 0 ? null : found, signal: found < 0 ? nameOf(-found) : null, stdout: "", stderr };
  });
  return {
    kill(signal) {
      if (pid === undefined) doomed = signal;
      else if (end === undefined) process.kill(pid, signal);
    },
    said: (text) => until(() => (stderr.includes(text) ? true : end === undefined ? undefined : false)),
    ended,
  };
}
