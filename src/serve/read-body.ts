/**
 * Reads the bodies of requests, each up to a maximum size, and all of them within a number of bytes. Only bytes that have
 * arrived count, so that a client that announces a large picture and sends nothing takes nothing. When the bytes run
 * out, the slowest client that is still sending is given up, and not the next one.
 */

import type { IncomingMessage } from "node:http";
import type { Refusal } from "../http/guard.js";

/** A body. Its bytes count until it is released. */
export interface Body {
  readonly bytes: Buffer;
  release(): void;
}

/** A body that is arriving. */
interface Arriving {
  bytes: number;
  readonly since: number;
  giveUp(): void;
}

/** The answer to a client that should try again. */
export const TOO_MANY: Refusal = {
  status: 503,
  words: "too many pictures are waiting; retry in a second",
  headers: { "Retry-After": "1" },
};

/** The speed of a client is known after this time, in milliseconds. */
const MEASURE_MS = 250;

export class Bodies {
  private held = 0;
  private readonly arriving = new Set<Arriving>();

  /** `most` is the number of bytes of all bodies, and `mostEach` of one. */
  constructor(
    private readonly most: number,
    private readonly mostEach: number,
  ) {}

  /** The bytes that have arrived and are still needed. */
  get bytes(): number {
    return this.held;
  }

  /** The body of a request, or why it is not read; undefined if the client disconnected. */
  read(request: IncomingMessage): Promise<Body | Refusal | undefined> {
    const tooLarge: Refusal = {
      status: 413,
      words: `the picture is larger than the limit of ${this.mostEach} bytes (--max-bytes)`,
    };
    if (Number(request.headers["content-length"] ?? 0) > this.mostEach) return Promise.resolve(tooLarge);
    return new Promise((done) => {
      let parts: Buffer[] = [];
      const end = (result: Refusal | undefined): void => {
        if (!this.arriving.delete(own)) return;
        request.pause(); // a rejection closes the connection
        this.held -= own.bytes;
        parts = [];
        done(result);
      };
      const own: Arriving = { bytes: 0, since: performance.now(), giveUp: () => end(TOO_MANY) };
      this.arriving.add(own);
      request.on("data", (part: Buffer) => {
        if (!this.arriving.has(own)) return;
        own.bytes += part.length;
        this.held += part.length;
        parts.push(part);
        if (own.bytes > this.mostEach) end(tooLarge);
        while (this.held > this.most && this.hasHolder()) this.slowest().giveUp();
      });
      request.on("end", () => {
        if (!this.arriving.delete(own)) return;
        let left = own.bytes;
        const release = (): void => {
          this.held -= left;
          left = 0;
        };
        done({ bytes: Buffer.concat(parts), release });
      });
      request.on("close", () => end(undefined));
      request.on("error", () => end(undefined));
    });
  }

  private hasHolder(): boolean {
    for (const { bytes } of this.arriving) if (bytes > 0) return true;
    return false;
  }

  /** The slowest client that has sent something, by its bytes per second; one that has just begun only if there is no other. */
  private slowest(): Arriving {
    const now = performance.now();
    const speed = ({ bytes, since }: Arriving): number => bytes / (now - since);
    const holders = [...this.arriving].filter(({ bytes }) => bytes > 0);
    const measured = holders.filter(({ since }) => now - since > MEASURE_MS);
    return (measured.length > 0 ? measured : holders).reduce((slow, each) => (speed(each) < speed(slow) ? each : slow));
  }
}
