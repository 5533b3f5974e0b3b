/** The output of setup: progress lines on stderr, and one kind of error for every expected failure. */

/** A failure that the user can fix: its message is printed without a stack trace, and the exit code is 1. */
export class SetupError extends Error {
  /** @override */
  name = "SetupError";
}

/** @typedef {{ isTTY?: boolean, columns?: number, write(text: string): unknown }} Stream */
/** @typedef {(part: string) => void} Tell receives the progress as text: "3 of 17 files compiled" */

/** Milliseconds between two updates of a terminal line, and between two lines of a log, which should stay short. */
const TERMINAL_MS = 1000;
const LOG_MS = 30_000;

/** Prints a progress line on stderr, so that stdout contains only the output of the command. @param {string} line @param {Stream} [stream] */
export function say(line, stream = process.stderr) {
  stream.write(`${stream.isTTY ? "\r\x1b[K" : ""}[setup] ${line}\n`);
}

/**
 * Prints what is starting, the progress, and at the end how long it took, if it took long. On a
 * terminal one line is updated; in a log there is a new line every half minute. @template T
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

/** Shortens a line to the width of the terminal, because a wrapped line cannot be overwritten. @param {string} line @param {number} [columns] */
const cut = (line, columns = 80) => (line.length < columns ? line : `${line.slice(0, Math.max(1, columns - 2))}…`);
