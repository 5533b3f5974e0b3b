/**
 * A server for this machine only, used by the dashboard, `nudge serve` and `nudge data review`. It listens on loopback,
 * rejects requests from foreign pages (guard.ts), limits connections and time (connections.ts), and turns errors into
 * text responses.
 */

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { DataError, UsageError } from "../errors.js";
import { type ConnectionLimits, Connections, usualLimits } from "./connections.js";
import { type Refusal, refusalOf, safetyHeaders } from "./guard.js";
import { listen } from "./listen.js";

export interface LocalServerOptions {
  /** The name of the server in messages. */
  readonly name: string;
  /** The first port to try if none is requested. */
  readonly usualPort: number;
  /** 0 selects any free port. */
  readonly port?: number;
  /** Paths that accept a body by POST. */
  readonly posts?: readonly string[];
  readonly limits?: Partial<ConnectionLimits>;
  /** Milliseconds in which a client must send a complete request. */
  readonly requestMs?: number;
  /** Milliseconds that requests may still take when the server is closed. */
  readonly finishMs?: number;
  /** Handles an accepted request. Returns the reason if there is no response for it. */
  answer(request: IncomingMessage, response: ServerResponse): Promise<Refusal | undefined>;
}

export interface LocalServer extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  /** The number of open connections. */
  readonly connections: number;
  /** Accepts no more connections, finishes the requests in progress within a time, and closes. */
  close(): Promise<void>;
}

/** How long a server that is asked to stop still answers the requests it has. */
const FINISH_MS = 10_000;

/** How often Node.js checks for requests that take too long. */
const CHECK_MS = 1_000;

/** Starts a server, which runs until it is closed. */
export async function startLocalServer(options: LocalServerOptions): Promise<LocalServer> {
  const { name, posts, requestMs = 15_000, finishMs = FINISH_MS } = options;
  const limits = { ...usualLimits, ...options.limits };
  let port = 0;
  const server = createServer({
    maxHeaderSize: 16 << 10,
    requestTimeout: requestMs,
    headersTimeout: Math.min(10_000, requestMs),
    connectionsCheckingInterval: Math.min(CHECK_MS, requestMs),
  });
  const connections = new Connections(server, limits);
  server.maxConnections = limits.most + 64; // the limits above apply first; this one covers sockets that never became a connection
  server.on("request", async (request, response) => {
    for (const [header, value] of Object.entries(safetyHeaders)) response.setHeader(header, value);
    try {
      const refusal = refusalOf(request, port, posts) ?? (await options.answer(request, response));
      if (refusal) refuse(response, refusal);
    } catch (error) {
      refuse(response, problemOf(name, error));
    }
  });
  server.on("clientError", (_error, socket: Socket) => {
    if (!socket.writable) socket.destroy();
    else {
      socket.end("HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
      // A client that keeps its side open would keep the connection alive, so it is closed completely after the
      // response.
      socket.destroySoon();
    }
  });
  port = await listen(server, options);
  const close = async (): Promise<void> => {
    const closed = new Promise<void>((done) => server.close(() => done())); // no new connections from now on
    const { requests } = connections;
    if (requests > 0)
      process.stderr.write(
        `${name}: finishing ${requests} ${requests === 1 ? "request" : "requests"}, for at most ${finishMs / 1000} seconds\n`,
      );
    const cut = await connections.finish(finishMs);
    if (cut > 0) process.stderr.write(`${name}: ${cut} ${cut === 1 ? "request was" : "requests were"} not finished\n`);
    server.closeAllConnections();
    await closed;
  };
  return {
    ...{ url: `http://127.0.0.1:${port}/`, port, close, [Symbol.asyncDispose]: close },
    get connections() {
      return connections.count;
    },
  };
}

function problemOf(name: string, error: unknown): Refusal {
  if (error instanceof UsageError) return { status: 400, words: error.message };
  if (error instanceof DataError) return { status: 500, words: error.message };
  process.stderr.write(`nudge: ${name}: ${error instanceof Error ? error.stack : error}\n`);
  return { status: 500, words: `${name} failed to handle this request; see the terminal in which it runs` };
}

/** Ends a request with a text. The connection is closed, so that the rest of what the client sends is not read. */
export function refuse(response: ServerResponse, { status, words, headers }: Refusal): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const body = `${words}\n`;
  response.writeHead(status, {
    "Content-Type": "text/plain; charset=utf-8",
    "Content-Length": Buffer.byteLength(body),
    Connection: "close",
    ...headers,
  });
  response.end(body);
}
