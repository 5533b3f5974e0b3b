/** The body of a request, up to a size. */

import type { IncomingMessage } from "node:http";
import type { Refusal } from "../http/guard.js";

/** The bytes, or why they are not read; undefined where the client went away. */
export function readBody(request: IncomingMessage, most: number): Promise<Buffer | Refusal | undefined> {
  const tooLarge: Refusal = {
    status: 413,
    words: `the picture is larger than ${most} bytes, which is the limit here (--max-bytes)`,
  };
  if (Number(request.headers["content-length"] ?? 0) > most) return Promise.resolve(tooLarge);
  return new Promise((done) => {
    const parts: Buffer[] = [];
    let size = 0;
    request.on("data", (part: Buffer) => {
      size += part.length;
      if (size > most) {
        request.pause(); // the refusal closes the connection
        done(tooLarge);
      } else parts.push(part);
    });
    request.on("end", () => done(Buffer.concat(parts)));
    request.on("close", () => done(undefined));
    request.on("error", () => done(undefined));
  });
}
