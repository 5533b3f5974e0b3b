/**
 * Server-sent events: responses that stay open. A stream that is not read fast enough is closed, and the page connects
 * again.
 */

import type { ServerResponse } from "node:http";

/** The maximum number of unread bytes, several times the size of ten thousand runs. */
const MOST_WAITING = 64 << 20;

/** Proxies and browsers close idle connections. */
const BEAT_MS = 15_000;

export class EventStream {
  private readonly beat: NodeJS.Timeout;
  private over = false;

  constructor(private readonly response: ServerResponse) {
    response.writeHead(200, { "Content-Type": "text/event-stream; charset=utf-8" });
    this.beat = setInterval(() => this.write(": still here\n\n"), BEAT_MS);
    this.beat.unref();
    response.on("close", () => this.end());
    this.write("retry: 1000\n\n");
  }

  get isOver(): boolean {
    return this.over;
  }

  /** Sends an event whose data is already JSON. */
  send(kind: string, json: string): void {
    this.write(`event: ${kind}\ndata: ${json}\n\n`);
  }

  end(): void {
    if (this.over) return;
    this.over = true;
    clearInterval(this.beat);
    this.response.end();
  }

  private write(text: string): void {
    if (this.over) return;
    if (this.response.writableLength > MOST_WAITING) {
      this.end();
      this.response.destroy();
    } else this.response.write(text);
  }
}
