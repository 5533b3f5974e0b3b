/** How set-up speaks: progress lines on stderr, and one kind of error for everything that can be expected to fail. */

/** A failure the reader can mend: its message is printed without a stack, and the command exits with 1. */
export class SetupError extends Error {
  /** @override */
  name = "SetupError";
}

/** One progress line, on stderr so that a command's own output stays clean. @param {string} line */
export function say(line) {
  process.stderr.write(`[setup] ${line}\n`);
}

/** Says what is starting, and how long it took when that was long enough to wonder. @template T
 * @param {string} what @param {() => Promise<T>} work @returns {Promise<T>} */
export async function timed(what, work) {
  say(`${what} …`);
  const start = performance.now();
  const result = await work();
  const seconds = (performance.now() - start) / 1000;
  if (seconds >= 3) say(`… done in ${seconds.toFixed(0)} s`);
  return result;
}
