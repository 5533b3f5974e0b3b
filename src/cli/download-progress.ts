/** Shows the progress of a download: a bar on a terminal, and a line from time to time elsewhere. */

import { byteText } from "../files/byte-text.js";

const CELLS = 24;
/** Milliseconds between two updates of the bar. */
const REFRESH = 100;
/** If stderr is not a terminal, one line is printed for each such share of the file. */
const SHARE = 0.25;

export interface DownloadProgress {
  onProgress(done: number, total: number | null): void;
  onNote(text: string): void;
  /** Removes the bar. */
  end(): void;
}

/** Shows the progress of a download on a stream. */
export function downloadProgress(
  what: string,
  stream: { write(text: string): unknown; isTTY?: boolean } = process.stderr,
  now: () => number = () => performance.now(),
): DownloadProgress {
  let [shown, started, first] = [0, now(), -1];
  let nextShare = SHARE;
  const bar = (done: number, total: number | null): string => {
    const seconds = (now() - started) / 1000;
    const rate = seconds > 0.5 ? (done - first) / seconds : 0;
    const speed = rate > 0 ? `  ${byteText(rate)}/s` : "";
    if (total === null) return `${what}  ${byteText(done)}${speed}`;
    const share = total === 0 ? 1 : done / total;
    const filled = Math.round(share * CELLS);
    const left = rate > 0 ? `  ${Math.ceil((total - done) / rate)} s left` : "";
    return `${what}  [${"#".repeat(filled)}${"-".repeat(CELLS - filled)}] ${Math.floor(share * 100)} %  ${byteText(done)} of ${byteText(total)}${speed}${left}`;
  };
  const clear = (): void => {
    if (stream.isTTY) stream.write("\r\x1b[K");
  };
  return {
    onProgress(done, total) {
      if (first < 0) [first, started] = [done, now()];
      if (stream.isTTY) {
        if (now() - shown < REFRESH && done !== total) return;
        shown = now();
        stream.write(`\r${bar(done, total)}\x1b[K`);
      } else if (total !== null && done / total >= nextShare && done < total) {
        while (done / total >= nextShare) nextShare += SHARE;
        stream.write(`${what}: ${byteText(done)} of ${byteText(total)}\n`);
      }
    },
    onNote(text) {
      clear();
      stream.write(`${text}\n`);
    },
    end: clear,
  };
}
