/**
 * The server of the dashboard: a page for a folder of runs and sweeps, on this machine only. It only reads, and it
 * never loads the engine.
 *
 * Every URL is an entry of a table: the files of the page by name, and a few requests whose arguments are names that
 * the index found on disk. So no URL can become a path.
 */

import { realpathSync, statSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { rememberedDataRoots } from "../data/named-folders.js";
import { DataError, UsageError } from "../errors.js";
import type { ConnectionLimits } from "../http/connections.js";
import type { Refusal } from "../http/guard.js";
import { type LocalServerOptions, startLocalServer } from "../http/local-server.js";
import { type PageFile, type PageParts, pageFiles, sendPageFile } from "../http/page-files.js";
import { isPackName, PackFile } from "../pack/pack-file.js";
import { type AnswerContext, answers } from "./answers.js";
import { Live } from "./live.js";
import { RunRows } from "./run-rows.js";
import { Tables } from "./tables.js";

export interface DashboardOptions {
  /** One or more folders of runs and sweeps, or packs. */
  readonly folder: string | readonly string[];
  /**
   * Folders of pictures that may be shown, in addition to those below `folder` and those that this user has trained on.
   */
  readonly dataRoots?: readonly string[];
  /** The port; by default a free one near 4747, and 0 for any. */
  readonly port?: number;
  /** The folder of the compiled program; set by tests. */
  readonly base?: URL;
  /** A Unix socket instead of a port, tokens for those who may open the page, and what is called after one was used. */
  readonly socket?: string;
  readonly access?: LocalServerOptions["access"];
  readonly onOpened?: LocalServerOptions["onOpened"];
  /** Limits of connections and of the time that a request may take; set by tests. */
  readonly limits?: Partial<ConnectionLimits>;
  readonly requestMs?: number;
}

const PAGE: PageParts = {
  title: "NUDGE",
  folder: "dashboard/page",
  styles: ["base", "frame", "controls", "states", "runs", "run", "charts", "tables", "sweeps", "toy"],
  noScript: "This page needs JavaScript. For tables without it, use: nudge report",
};

/** The port that is tried first. */
const USUAL_PORT = 4747;

export interface Dashboard extends AsyncDisposable {
  readonly url: string;
  /** The address to open, with a token that works once, if there are tokens. */
  readonly address: string;
  readonly port: number;
  close(): Promise<void>;
}

/** Starts a dashboard, which runs until it is closed. */
export async function startDashboard(options: DashboardOptions): Promise<Dashboard> {
  const { folder, base = new URL("../", import.meta.url) } = options;
  const places = [folder].flat().map(realPlace);
  const index = new RunRows(...places);
  const chosen = [...places, ...(options.dataRoots ?? []).map(realData)];
  const pictureRoots = (): string[] => [...chosen, ...rememberedDataRoots()];
  const live = new Live(index);
  const context: AnswerContext = { index, live, tables: new Tables(index), toys: { running: 0 }, pictureRoots };
  const files = pageFiles(base, PAGE);
  const server = await startLocalServer({
    name: "dashboard",
    usualPort: USUAL_PORT,
    port: options.port,
    socket: options.socket,
    access: options.access,
    onOpened: options.onOpened,
    limits: options.limits,
    requestMs: options.requestMs,
    answer: (request, response) => respond(request, response, files, context),
  });
  const looking = live.run();
  const close = async (): Promise<void> => {
    live.stop();
    await server.close();
    await looking;
  };
  const { url, address, port } = server;
  return { url, address, port, close, [Symbol.asyncDispose]: close };
}

function realPlace(folder: string): string {
  try {
    if (!statSync(folder).isDirectory() && !isPackName(folder))
      throw new UsageError(`dashboard: ${folder} is neither a folder nor a packed study (*.nudge)`);
    const path = realpathSync(folder);
    if (statSync(path).isFile()) new PackFile(path, folder); // throws if it is not a pack
    return path;
  } catch (error) {
    if (error instanceof UsageError || error instanceof DataError) throw error;
    throw new UsageError(
      `dashboard: ${folder}: no such folder. Use the folder that contains runs, such as the --out of nudge train`,
    );
  }
}

function realData(folder: string): string {
  try {
    return realpathSync(folder);
  } catch {
    throw new UsageError(
      `dashboard: --data ${folder}: no such folder. Use the folder that contains the pictures of runs`,
    );
  }
}

/** Answers a request; returns the reason if it cannot be answered. */
async function respond(
  request: IncomingMessage,
  response: ServerResponse,
  files: ReadonlyMap<string, PageFile>,
  context: AnswerContext,
): Promise<Refusal | undefined> {
  const { pathname, searchParams } = new URL(request.url!, "http://127.0.0.1");
  if (sendPageFile(request, response, files.get(pathname))) return undefined;
  if (!Object.hasOwn(answers, pathname)) return { status: 404, words: "not found" };
  if (request.method === "HEAD") return { status: 405, words: "GET only" };
  await answers[pathname]({ query: searchParams, response, context });
  return undefined;
}
