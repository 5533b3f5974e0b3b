/**
 * `nudge serve`: a model behind HTTP on this machine. POST the bytes of a picture to /predict to get JSON, the same as
 * a line of `nudge predict --json`; pictures that arrive at the same time share batches. / is a page for trying the
 * model; /health and /metrics are for monitoring. Guards and limits are those of the dashboard (http/local-server.ts).
 */

import type { IncomingMessage, ServerResponse } from "node:http";
import { DataError, UsageError } from "../errors.js";
import type { ConnectionLimits } from "../http/connections.js";
import type { Refusal } from "../http/guard.js";
import { type LocalServer, type LocalServerOptions, startLocalServer } from "../http/local-server.js";
import { type PageFile, type PageParts, pageFiles, sendPageFile } from "../http/page-files.js";
import { temperatureOf } from "../model/about.js";
import type { Model } from "../model/index.js";
import { PictureBatcher } from "../model/picture-batcher.js";
import { type UnknownRule, unknownOf, unknownRule } from "../model/unknown.js";
import type { ModelFacts, PredictedPicture } from "./api.js";
import { Metrics } from "./metrics.js";
import { Bodies, TOO_MANY } from "./read-body.js";

export interface ServeOptions {
  readonly model: Model;
  /** The default is a free port near 4848; 0 selects any free port. */
  readonly port?: number;
  /** The largest picture, in bytes. */
  readonly mostBytes?: number;
  /** A Unix socket instead of a port, tokens for those who may use the service, and what is called after one was used. */
  readonly socket?: string;
  readonly access?: LocalServerOptions["access"];
  readonly onOpened?: LocalServerOptions["onOpened"];
  /** The bytes of all pictures that are being received or wait, at most. */
  readonly heldBytes?: number;
  readonly batchSize?: number;
  /** The share of known pictures that the limits may mark as unknown. */
  readonly unknown?: number;
  /** The folder of the compiled program, and limits; set by tests. */
  readonly base?: URL;
  readonly limits?: Partial<ConnectionLimits>;
  readonly requestMs?: number;
}

const PAGE: PageParts = {
  title: "NUDGE: predict pictures",
  folder: "serve/page",
  sharedStyle: true,
  styles: ["serve"],
  noScript: "This page needs JavaScript. Without it, use curl --data-binary @photo.jpg with the path /predict",
};

const USUAL_PORT = 4848;

/** The maximum number of waiting pictures, and the usual one of their bytes. Beyond that, clients are asked to retry. */
const MOST_WAITING = 256;
const MOST_HELD_BYTES = 512 << 20;

/** A service for a model. The caller disposes of the model after closing the service. */
export async function startServe(options: ServeOptions): Promise<LocalServer> {
  const { model, base = new URL("../", import.meta.url) } = options;
  const service = new Service(model, options, pageFiles(base, PAGE));
  return startLocalServer({
    name: "serve",
    usualPort: USUAL_PORT,
    posts: ["/predict"],
    port: options.port,
    socket: options.socket,
    access: options.access,
    onOpened: options.onOpened,
    limits: options.limits,
    requestMs: options.requestMs,
    answer: (request, response) => service.answer(request, response),
  });
}

class Service {
  private readonly batcher: PictureBatcher;
  private readonly metrics = new Metrics();
  private readonly rule: UnknownRule;
  private readonly mostBytes: number;
  private readonly bodies: Bodies;

  constructor(
    private readonly model: Model,
    { batchSize, unknown, mostBytes = 32 << 20, heldBytes = MOST_HELD_BYTES }: ServeOptions,
    private readonly files: ReadonlyMap<string, PageFile>,
  ) {
    if (model.about.preprocessing.kind !== "pictures")
      throw new UsageError(`serve: model ${model.path} expects arrays, not pictures`);
    this.batcher = new PictureBatcher(model, { batchSize });
    this.rule = unknownRule(model.about, unknown);
    this.mostBytes = mostBytes;
    this.bodies = new Bodies(heldBytes, mostBytes);
  }

  async answer(request: IncomingMessage, response: ServerResponse): Promise<Refusal | undefined> {
    const { pathname, searchParams } = new URL(request.url!, "http://127.0.0.1");
    if (pathname === "/predict") return this.predict(request, response, searchParams);
    if (sendPageFile(request, response, this.files.get(pathname))) return undefined;
    if (pathname === "/health") return sendJson(response, 200, { status: "ok", waiting: this.batcher.waiting });
    if (pathname === "/model") return sendJson(response, 200, this.facts());
    if (pathname !== "/metrics")
      return { status: 404, words: "not found; available are /, /predict, /model, /health and /metrics" };
    response.writeHead(200, { "Content-Type": "text/plain; version=0.0.4; charset=utf-8" });
    response.end(this.metricsText());
    return undefined;
  }

  private async predict(
    request: IncomingMessage,
    response: ServerResponse,
    query: URLSearchParams,
  ): Promise<Refusal | undefined> {
    response.once("finish", () => this.metrics.request(response.statusCode));
    const top = Number(query.get("top") ?? 5);
    if (!Number.isSafeInteger(top) || top < 1) return { status: 400, words: "top: expected an integer of at least 1" };
    if (request.headers["content-type"]?.startsWith("multipart/"))
      return { status: 415, words: "send the bytes of the file, not a form: curl --data-binary @photo.jpg" };
    if (this.batcher.waiting >= MOST_WAITING) return TOO_MANY;
    const since = performance.now();
    const body = await this.bodies.read(request);
    if (body === undefined || "status" in body) return body;
    try {
      if (body.bytes.length === 0) return { status: 400, words: "the body is empty; expected the bytes of a picture" };
      if (!this.batcher.hasRoomFor(body.bytes)) return TOO_MANY;
      const prediction = await this.batcher.predict(body.bytes, { top });
      const unknown = unknownOf(prediction, this.rule);
      this.metrics.predicted((performance.now() - since) / 1000, unknown !== null);
      const { label, probability, distance, truncated } = prediction;
      const answer: PredictedPicture = { class: label, probability, unknown, top: prediction.top, distance, truncated };
      return sendJson(response, 200, answer);
    } catch (error) {
      if (error instanceof DataError) return sendJson(response, 422, { problem: error.message });
      throw error;
    } finally {
      body.release();
    }
  }

  private facts(): ModelFacts {
    const { classes, domains, backbone, dataset, preprocessing } = this.model.about;
    const { rule, mostBytes } = this;
    return {
      ...{ classes, domains, backbone, dataset, preprocessing, temperature: temperatureOf(this.model.about) },
      unknown: rule,
      mostBytes,
    };
  }

  private metricsText(): string {
    const { batches, pictures, waiting } = this.batcher;
    return this.metrics.text({
      nudge_batches_total: batches,
      nudge_batched_pictures_total: pictures,
      nudge_waiting: waiting,
      process_resident_memory_bytes: process.memoryUsage.rss(),
    });
  }
}

function sendJson(response: ServerResponse, status: number, value: object): undefined {
  if (response.destroyed) return undefined;
  const body = Buffer.from(`${JSON.stringify(value)}\n`);
  response.writeHead(status, { "Content-Type": "application/json; charset=utf-8", "Content-Length": body.length });
  response.end(body);
  return undefined;
}
