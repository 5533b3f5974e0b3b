/**
 * A server for this machine only, used by the dashboard, `nudge serve` and `nudge data review`. It listens on loopback,
 * rejects requests from foreign pages (guard.ts), limits connections and time (connections.ts), and turns errors into
 * text responses.
 */

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { DataError, UsageError } from "../errors.js";
import { Access, type AccessOptions } from "./access.js";
import { type ConnectionLimits, Connections, usualLimits } from "./connections.js";
import { type Refusal, refusalOf, safetyHeaders } from "./guard.js";
import { listen, listenOnSocket } from "./listen.js";

export interface LocalServerOptions {
  /** The name of the server in messages. */
  readonly name: string;
  /** The first port to try if none is requested. */
  readonly usualPort: number;
  /** 0 selects any free port. */
  readonly port?: number;
  /** A Unix socket to listen on instead of a port. Only this user can connect to it, so it has no tokens. */
  readonly socket?: string;
  /** Tokens for those who may use the server; absent if every user of this machine may. */
  readonly access?: Omit<AccessOptions, "name" | "onUsed">;
  /** Receives the next address, with a new token, after one has been opened. */
  readonly onOpened?: (next: string) => void;
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
  /** The address to open: with a token that works once, if the server has tokens. */
  readonly address: string;
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
  let port: number | null = 0;
  const addressWith = (token: string): string => `http://127.0.0.1:${port}/?token=${token}`;
  const access =
    options.access && options.socket === undefined
      ? new Access({ ...options.access, name, onUsed: (next) => options.onOpened?.(addressWith(next)) })
      : undefined;
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
      const unfit = refusalOf(request, port, posts);
      if (unfit) return refuse(response, unfit);
      const admitted = access?.check(request, response) ?? true;
      if (admitted === "answered") return;
      const refusal = admitted === true ? await options.answer(request, response) : admitted;
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
  if (options.socket === undefined) port = await listen(server, options);
  else {
    await listenOnSocket(server, options.socket, name);
    port = null;
  }
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
  const url = port === null ? `http://localhost/ on the socket ${options.socket}` : `http://127.0.0.1:${port}/`;
  return {
    ...{ url, port: port ?? 0, close, [Symbol.asyncDispose]: close },
    get address() {
      return access ? addressWith(access.token) : url;
    },
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
