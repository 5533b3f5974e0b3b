/**
 * The dashboard's server: a page over a folder of runs and sweeps, on this machine only. It reads and never writes, and it
 * never loads the engine.
 *
 * Every address is an entry of a table: the page's files by their names, and a few questions whose arguments are names that
 * the index found on disk. So there is no way from an address to a path.
 */

import { realpathSync, statSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { DataError, UsageError } from "../errors.js";
import { type Asked, answers } from "./answers.js";
import { type Refusal, refusalOf, safetyHeaders } from "./guard.js";
import { listen } from "./listen.js";
import { Live } from "./live.js";
import { type PageFile, pageFiles } from "./page-files.js";
import { RunIndex } from "./run-index.js";
import { Tables } from "./tables.js";

export interface DashboardOptions {
  /** The folder of runs and sweeps. */
  readonly folder: string;
  /** A free one near 4747 unless told; 0 for any. */
  readonly port?: number;
  /** Where the compiled program is; told only by tests. */
  readonly base?: URL;
}

export interface Dashboard extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  close(): Promise<void>;
}

/** Starts a dashboard; it runs until it is closed. */
export async function startDashboard(options: DashboardOptions): Promise<Dashboard> {
  const { folder, base = new URL("../", import.meta.url) } = options;
  const index = new RunIndex(realFolder(folder));
  const live = new Live(index);
  const asked: Asked = { index, live, tables: new Tables(index), toys: { running: 0 } };
  const files = pageFiles(base);
  let port = 0;
  const server = createServer({ maxHeaderSize: 16 << 10, requestTimeout: 15_000, headersTimeout: 10_000 });
  server.maxConnections = 256;
  server.on("request", async (request, response) => {
    for (const [name, value] of Object.entries(safetyHeaders)) response.setHeader(name, value);
    try {
      const refusal = refusalOf(request, port) ?? (await respond(request, response, files, asked));
      if (refusal) refuse(response, refusal);
    } catch (error) {
      refuse(response, problemOf(error));
    }
  });
  server.on("clientError", (_error, socket) => {
    if (socket.writable) socket.end("HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
    else socket.destroy();
  });
  port = await listen(server, options.port);
  const looking = live.run();
  const close = async (): Promise<void> => {
    live.stop();
    server.closeAllConnections();
    await new Promise<void>((done) => server.close(() => done()));
    await looking;
  };
  return { url: `http://127.0.0.1:${port}/`, port, close, [Symbol.asyncDispose]: close };
}

function realFolder(folder: string): string {
  try {
    if (!statSync(folder).isDirectory()) throw new UsageError(`dashboard: ${folder} is no folder`);
    return realpathSync(folder);
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new UsageError(
      `dashboard: ${folder}: no such folder. Give the folder that runs are made in, such as the --out of nudge train`,
    );
  }
}

/** Answers a request that may be answered; returns why it was not, where there is nothing to answer with. */
async function respond(
  request: IncomingMessage,
  response: ServerResponse,
  files: ReadonlyMap<string, PageFile>,
  asked: Asked,
): Promise<Refusal | undefined> {
  const { pathname, searchParams } = new URL(request.url!, "http://127.0.0.1");
  const file = files.get(pathname);
  if (file) {
    response.writeHead(200, { "Content-Type": file.type, "Content-Length": file.body.length });
    response.end(request.method === "HEAD" ? undefined : file.body);
    return undefined;
  }
  if (!Object.hasOwn(answers, pathname)) return { status: 404, words: "there is nothing of this name" };
  if (request.method === "HEAD") return { status: 405, words: "GET only" };
  await answers[pathname]({ query: searchParams, response, asked });
  return undefined;
}

function problemOf(error: unknown): Refusal {
  if (error instanceof UsageError) return { status: 400, words: error.message };
  if (error instanceof DataError) return { status: 500, words: error.message };
  process.stderr.write(`nudge: dashboard: ${error instanceof Error ? error.stack : error}\n`);
  return { status: 500, words: "the dashboard failed at this; see the terminal it was started in" };
}

/** Ends a request with words. The connection is closed, so that what else the other side has to say is not heard. */
function refuse(response: ServerResponse, { status, words }: Refusal): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const body = `${words}\n`;
  response.writeHead(status, {
    "Content-Type": "text/plain; charset=utf-8",
    "Content-Length": Buffer.byteLength(body),
    Connection: "close",
    ...(status === 405 ? { Allow: "GET, HEAD" } : {}),
  });
  response.end(body);
}
