/** The output of setup: progress lines on stderr, and one kind of error for every expected failure. */

/** A failure that the user can fix: its message is printed without a stack trace, and the exit code is 1. */
export class SetupError extends Error {
  /** @override */
  name = "SetupError";
}

/** @typedef {{ isTTY?: boolean, columns?: number, write(text: string): unknown }} Stream */
/** @typedef {(part: string) => void} Tell takes how far the work is, in words: "3 of 17 files compiled" */

/** Milliseconds between two updates of a terminal line, and between two lines of a log, which should stay short. */
const TERMINAL_MS = 1000;
const LOG_MS = 30_000;

/** One progress line, on stderr so that a command's own output stays clean. @param {string} line @param {Stream} [stream] */
export function say(line, stream = process.stderr) {
  stream.write(`${stream.isTTY ? "\r\x1b[K" : ""}[setup] ${line}\n`);
}

/**
 * Says what is starting, how far it is while it lasts, and how long it took when that was long enough to wonder. On a
 * terminal one line changes, in a log there is a new one every half minute. @template T
 * @param {string} what @param {(tell: Tell) => Promise<T>} work @param {Stream} [stream] @returns {Promise<T>}
 */
export async function timed(what, work, stream = process.stderr) {
  say(`${what} …`, stream);
  const start = performance.now();
  const seconds = () => (performance.now() - start) / 1000;
  let part = "";
  const show = () => {
    const soFar = `… ${part && `${part}, `}${seconds().toFixed(0)} s`;
    if (stream.isTTY) stream.write(`\r${cut(`[setup] ${soFar}`, stream.columns)}\x1b[K`);
    else say(soFar, stream);
  };
  const timer = setInterval(show, stream.isTTY ? TERMINAL_MS : LOG_MS);
  let result;
  try {
    result = await work((words) => {
      part = words;
      if (stream.isTTY) show();
    });
  } finally {
    clearInterval(timer);
    if (stream.isTTY) stream.write("\r\x1b[K");
  }
  if (seconds() >= 3) say(`… done in ${seconds().toFixed(0)} s`, stream);
  return result;
}

/** A line that fits a terminal: one that wraps cannot be written over. @param {string} line @param {number} [columns] */
const cut = (line, columns = 80) => (line.length < columns ? line : `${line.slice(0, Math.max(1, columns - 2))}…`);
