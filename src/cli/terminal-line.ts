/**
 * A line on the stderr of a terminal that is replaced by the next one and removed at the end. Nothing is shown without
 * a terminal.
 */

export interface TerminalLine {
  /** Shows a text, unless another one was shown just before. */
  show(text: string): void;
  clear(): void;
}

/** Milliseconds between two texts. */
const REFRESH_MS = 100;

export function terminalLine(): TerminalLine {
  const { stderr } = process;
  let shown = Number.NEGATIVE_INFINITY;
  return {
    show(text) {
      const now = performance.now();
      if (!stderr.isTTY || now - shown < REFRESH_MS) return;
      shown = now;
      stderr.write(`\r${text}\x1b[K`);
    },
    clear() {
      if (stderr.isTTY) stderr.write("\r\x1b[K");
    },
  };
}
