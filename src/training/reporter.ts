/** The output of a run: one status line on a terminal, plain lines elsewhere, nothing with --quiet. */

import { showLine } from "../data/show-name.js";
import type { RunRecord } from "../records/record.js";

export interface Status {
  readonly step: number;
  readonly steps: number;
  readonly loss: number;
  /** Pictures per second. */
  readonly rate: number;
  /** The share of the time spent waiting for pictures. */
  readonly waiting: number;
  /** The peak memory on the device in bytes. */
  readonly memory: number;
  /** The estimated remaining time in seconds. */
  readonly left: number;
}

export interface Reporter {
  /** Reports the progress; called after every update. */
  status(status: Status): void;
  /** Reports the progress of another task. The next text replaces it. */
  progress?(text: string): void;
  /** Prints a message, such as the result of an evaluation or a note. */
  line(text: string): void;
  /** Receives the records of an evaluation after they have been written. */
  records?(records: readonly RunRecord[]): void;
}

/** Milliseconds between two changes of the status line, and between two lines without a terminal. */
const TERMINAL_MS = 200;
const PLAIN_MS = 30_000;

export const quietReporter: Reporter = { status: () => {}, progress: () => {}, line: () => {} };

/** Creates a reporter for a stream, which may be a terminal. */
export function streamReporter(stream: { isTTY?: boolean; write(text: string): unknown }): Reporter {
  const terminal = stream.isTTY === true;
  let shown = performance.now();
  const nowAndThen = (text: () => string): void => {
    const now = performance.now();
    if (now - shown < (terminal ? TERMINAL_MS : PLAIN_MS)) return;
    shown = now;
    stream.write(terminal ? `\r${text()}\x1b[K` : `${text()}\n`);
  };
  return {
    status: (status) => nowAndThen(() => statusText(status)),
    progress: (text) => nowAndThen(() => showLine(text)),
    line: (text) => stream.write(`${terminal ? "\r\x1b[K" : ""}${showLine(text)}\n`),
  };
}

/** Returns `step 120/300, loss 0.4213, 1830 pictures/s, waiting 3 %, 312 MB, 0:14 left`. */
export function statusText({ step, steps, loss, rate, waiting, memory, left }: Status): string {
  return [
    `step ${step}/${steps}`,
    `loss ${loss.toFixed(4)}`,
    `${rate < 10 ? rate.toFixed(1) : rate.toFixed(0)} pictures/s`,
    `waiting ${(100 * waiting).toFixed(0)} %`,
    memory < 1e9 ? `${(memory / 1e6).toFixed(0)} MB` : `${(memory / 1e9).toFixed(1)} GB`,
    `${duration(left)} left`,
  ].join(", ");
}

/** Returns `0:14` or `2:03:40`. */
export function duration(seconds: number): string {
  if (!Number.isFinite(seconds)) return "?";
  const whole = Math.max(0, Math.round(seconds));
  const [hours, minutes, rest] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  const two = (value: number): string => String(value).padStart(2, "0");
  return hours > 0 ? `${hours}:${two(minutes)}:${two(rest)}` : `${minutes}:${two(rest)}`;
}
