/**
 * Counters in files that increase while this process is alive. They are updated in a separate thread, because a step of
 * a large network can block the main thread for too long. A counter is used instead of the modification time, because
 * network file systems cache times for up to a minute but read the content again when a file is opened.
 */

import { Worker } from "node:worker_threads";

/**
 * The code of the thread, as text, so that it starts in the same way from sources and from the built package. It writes
 * to existing files only, so a file that was removed is not created again.
 */
const THREAD = `
const { openSync, writeSync, closeSync } = require("node:fs");
const timers = new Map();
require("node:worker_threads").parentPort.on("message", ({ path, every }) => {
  clearInterval(timers.get(path));
  timers.delete(path);
  if (every === undefined) return;
  let count = 0;
  timers.set(path, setInterval(() => {
    try {
      const file = openSync(path, "r+");
      try { writeSync(file, String(++count), 0); } finally { closeSync(file); }
    } catch {}
  }, every));
});
`;

let thread: Worker | undefined;

function send(message: { path: string; every?: number }): void {
  if (thread === undefined) {
    thread = new Worker(THREAD, { eval: true, stdin: false, execArgv: [] });
    thread.unref(); // does not keep the process alive
    thread.on("error", () => {
      thread = undefined; // for example, not enough memory; other processes then take over the lock, and the owner notices
    });
  }
  thread.postMessage(message);
}

/** Counts in an existing file until `stopBeat` or the end of the process. */
export function startBeat(path: string, everyMs: number): void {
  send({ path, every: everyMs });
}

/** Stops counting in a file. */
export function stopBeat(path: string): void {
  send({ path });
}
