/** Keeps the index up to date and sends changes to every open page. */

import { setTimeout as sleep } from "node:timers/promises";
import type { Events } from "./api.js";
import type { EventStream } from "./event-stream.js";
import { asTyped } from "./run-details.js";
import { type Changes, ROWS_A_PIECE, type RunRows } from "./run-rows.js";

/** Milliseconds between two scans, with and without open pages. */
const WATCHED_MS = 1_000;
const IDLE_MS = 10_000;

/** The maximum number of open pages. One more closes the oldest. */
const MOST_STREAMS = 64;

export class Live {
  private readonly streams = new Set<EventStream>();
  private wake = new AbortController();
  private stopped = false;
  private lastSent = "";

  constructor(private readonly rows: RunRows) {}

  /** Scans repeatedly until `stop`. */
  async run(): Promise<void> {
    while (!this.stopped) {
      const begun = performance.now();
      try {
        await this.rows.look(
          (changes) => this.send(changes),
          () => this.stopped,
        );
        this.tellProgress();
      } catch (error) {
        // The disk does not respond, or a folder was removed during the scan: the next scan will see it.
        process.stderr.write(`nudge: reading the runs failed: ${(error as Error).message}\n`);
      }
      const { signal } = this.wake;
      // If a scan takes long because the folder contains much else, the next one is delayed.
      const often = Math.min(IDLE_MS, Math.max(WATCHED_MS, 10 * (performance.now() - begun)));
      const pause = this.streams.size > 0 ? often : IDLE_MS;
      await sleep(pause, undefined, { signal }).catch(() => {});
    }
  }

  stop(): void {
    this.stopped = true;
    this.wake.abort();
    for (const stream of this.streams) stream.end();
  }

  /** Sends everything to a page, and then every change. */
  add(stream: EventStream): void {
    const paths = this.rows.index.places.map(({ path }) => path);
    const hello: Events["hello"] = { folder: paths.join(", "), typed: paths.map(asTyped).join(" ") };
    stream.send("hello", JSON.stringify(hello));
    stream.send("sweeps", JSON.stringify(this.rows.sweepList()));
    sendRows([stream], this.rows.rows());
    stream.send("progress", JSON.stringify(this.rows.progress));
    for (const oldest of this.open().slice(0, -(MOST_STREAMS - 1))) oldest.end();
    this.streams.add(stream);
    this.wake.abort();
    this.wake = new AbortController();
  }

  private open(): EventStream[] {
    for (const stream of this.streams) if (stream.isOver) this.streams.delete(stream);
    return [...this.streams];
  }

  private send({ runs, gone, sweeps }: Changes): void {
    const streams = this.open();
    if (gone.length > 0) for (const stream of streams) stream.send("gone", JSON.stringify(gone));
    if (sweeps.length > 0) for (const stream of streams) stream.send("sweeps", JSON.stringify(sweeps));
    sendRows(streams, runs);
    this.tellProgress();
  }

  private tellProgress(): void {
    const progress = JSON.stringify(this.rows.progress);
    if (progress === this.lastSent) return;
    this.lastSent = progress;
    for (const stream of this.open()) stream.send("progress", progress);
  }
}

function sendRows(streams: readonly EventStream[], rows: readonly string[]): void {
  for (let from = 0; from < rows.length; from += ROWS_A_PIECE) {
    const piece = `[${rows.slice(from, from + ROWS_A_PIECE).join(",")}]`;
    for (const stream of streams) stream.send("runs", piece);
  }
}
