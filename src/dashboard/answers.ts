/** The requests of the page by URL path, and how each is answered. */

import type { ServerResponse } from "node:http";
import { UsageError } from "../errors.js";
import type { IndexedRun } from "../run-index/indexed-run.js";
import { EventStream } from "./event-stream.js";
import type { Live } from "./live.js";
import { readPicture } from "./picture-file.js";
import { runCurves, runDetails } from "./run-details.js";
import { wrongPicture } from "./run-mistakes.js";
import type { RunRows } from "./run-rows.js";
import type { Tables } from "./tables.js";
import { readToySettings, trainToy } from "./toy.js";

/** The data that answers are made from. */
export interface AnswerContext {
  readonly index: RunRows;
  readonly live: Live;
  readonly tables: Tables;
  /** The number of toy tasks that are being trained. */
  readonly toys: { running: number };
  /** The folders from which pictures may be shown, as real paths. */
  readonly pictureRoots: () => readonly string[];
}

export interface Question {
  readonly query: URLSearchParams;
  readonly response: ServerResponse;
  readonly context: AnswerContext;
}

/** Answers a request, or throws a UsageError with a message for the page. */
export type Answer = (question: Question) => void | Promise<void>;

/** A page trains one toy task at a time; several pages may be open. */
const MOST_TOYS = 4;

export const answers: Readonly<Record<string, Answer>> = {
  "/api/events": ({ response, context }) => context.live.add(new EventStream(response)),

  "/api/run": async ({ query, response, context: { index, pictureRoots } }) =>
    sendJson(response, JSON.stringify(await runDetails(requestedRun(index, query), pictureRoots()))),

  "/api/curves": ({ query, response, context: { index } }) =>
    sendJson(response, JSON.stringify(runCurves(requestedRun(index, query)))),

  "/api/report": async ({ query, response, context: { tables } }) =>
    sendJson(
      response,
      await tables.json({
        selection: query.get("selection") ?? "training-domain",
        published: query.get("published") === "1",
        sweep: query.get("sweep") ?? undefined,
      }),
    ),

  "/api/sweep": ({ query, response, context: { index } }) => {
    const grid = index.grid(query.get("sweep") ?? "");
    if (!grid) throw new UsageError("the folder has no sweep with this name");
    sendJson(response, JSON.stringify(grid));
  },

  "/api/picture": async ({ query, response, context: { index, pictureRoots } }) => {
    const n = /^\d{1,6}$/.exec(query.get("n") ?? "")?.[0];
    const { files } = requestedRun(index, query);
    const file = n === undefined ? undefined : await wrongPicture(files, Number(n), pictureRoots());
    const picture = file === undefined ? undefined : readPicture(file);
    if (!picture) throw new UsageError("there is no such picture");
    response.writeHead(200, { "Content-Type": picture.type, "Content-Length": picture.bytes.length });
    response.end(picture.bytes);
  },

  "/api/toy": ({ query, response, context: { toys } }) => {
    const settings = readToySettings(query);
    if (toys.running >= MOST_TOYS) throw new UsageError("toy task: too many are running; close another page");
    const stream = new EventStream(response);
    toys.running++;
    trainToy(
      settings,
      (kind, data) => stream.send(kind, JSON.stringify(data)),
      () => stream.isOver,
    )
      .catch((error: Error) => stream.send("problem", JSON.stringify(error.message)))
      .finally(() => {
        toys.running--;
        stream.end();
      });
  },
};

function requestedRun(index: RunRows, query: URLSearchParams): IndexedRun {
  const entry = index.run(query.get("run") ?? "");
  if (!entry) throw new UsageError("the folder has no run with this name");
  return entry;
}

function sendJson(response: ServerResponse, json: string): void {
  const body = Buffer.from(json);
  response.writeHead(200, { "Content-Type": "application/json; charset=utf-8", "Content-Length": body.length });
  response.end(body);
}
