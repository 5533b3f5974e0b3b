/** Reads the body of a request, up to a maximum size. */

import type { IncomingMessage } from "node:http";
import type { Refusal } from "../http/guard.js";

/** The bytes, or why they are not read; undefined if the client disconnected. */
export function readBody(request: IncomingMessage, most: number): Promise<Buffer | Refusal | undefined> {
  const tooLarge: Refusal = {
    status: 413,
    words: `the picture is larger than the limit of ${most} bytes (--max-bytes)`,
  };
  if (Number(request.headers["content-length"] ?? 0) > most) return Promise.resolve(tooLarge);
  return new Promise((done) => {
    const parts: Buffer[] = [];
    let size = 0;
    request.on("data", (part: Buffer) => {
      size += part.length;
      if (size > most) {
        request.pause(); // the rejection closes the connection
        done(tooLarge);
      } else parts.push(part);
    });
    request.on("end", () => done(Buffer.concat(parts)));
    request.on("close", () => done(undefined));
    request.on("error", () => done(undefined));
  });
}
