/**
 * Counters in files that go up while this process lives. They are counted in a thread of their own: a step of a large
 * network can keep the main thread for longer than others may wait. A counter, not the file's time: network file systems
 * keep times for up to a minute where they have them, and read the content of a file again when it is opened.
 */

import { Worker } from "node:worker_threads";

/**
 * What the thread runs: text, so that it starts the same from sources and from the built package. A file is written in place
 * and never made: one that was taken away stays away.
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

function tell(message: { path: string; every?: number }): void {
  if (thread === undefined) {
    thread = new Worker(THREAD, { eval: true, stdin: false, execArgv: [] });
    thread.unref(); // it keeps no process alive
    thread.on("error", () => {
      thread = undefined; // no memory for it, say: then others take the lock over, and its owner finds out
    });
  }
  thread.postMessage(message);
}

/** Counts in a file that is there, until `stopBeat` or the end of the process. */
export function startBeat(path: string, everyMs: number): void {
  tell({ path, every: everyMs });
}

/** Stops counting in a file. */
export function stopBeat(path: string): void {
  tell({ path });
}
