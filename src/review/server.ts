/**
 * `nudge data review`: a page with the pictures whose labels should be checked. Decisions are written to a manifest
 * immediately. Guards and limits are those of the dashboard (http/local-server.ts).
 */

import type { IncomingMessage, ServerResponse } from "node:http";
import { resolve } from "node:path";
import type { PictureDataset } from "../data/dataset.js";
import { thumbnailOf } from "../data/inspect-thumbnails.js";
import { UsageError } from "../errors.js";
import type { Refusal } from "../http/guard.js";
import { type LocalServer, type LocalServerOptions, startLocalServer } from "../http/local-server.js";
import { type PageFile, type PageParts, pageFiles, sendPageFile } from "../http/page-files.js";
import type { ReviewedPicture } from "../own-data/label-review.js";
import type { ReviewItems } from "./api.js";
import type { Mark } from "./reviewed-manifest.js";

/** Where decisions are stored. */
interface Decisions {
  readonly path: string;
  readonly marks: ReadonlyMap<string, Mark>;
  mark(file: string, label: string, mark: Mark): void;
}

export interface ReviewOptions {
  readonly dataset: Pick<PictureDataset, "root" | "classes">;
  readonly pictures: readonly ReviewedPicture[];
  readonly manifest: Decisions;
  /** `label` if the pictures have no labels yet; `label` and `suggested` of a picture are then the predicted class. */
  readonly task?: "review" | "label";
  /** The command that trains with the manifest. */
  readonly command: string;
  readonly port?: number;
  /** Tokens for those who may open the page, and what is called after one was used. */
  readonly access?: LocalServerOptions["access"];
  readonly onOpened?: LocalServerOptions["onOpened"];
  /** Milliseconds in which a client must send a complete request. */
  readonly requestMs?: number;
  /** The folder of the compiled program; set by tests. */
  readonly base?: URL;
}

const PAGE: PageParts = {
  title: "NUDGE: review labels",
  folder: "review/page",
  sharedStyle: true,
  styles: ["review"],
  noScript: "This page needs JavaScript. Without it, use: nudge data review --json",
};

const USUAL_PORT = 4949;

/** Starts the page, which runs until it is closed. */
export async function startReview(options: ReviewOptions): Promise<LocalServer> {
  const files = pageFiles(options.base ?? new URL("../", import.meta.url), PAGE);
  return startLocalServer({
    name: "data review",
    usualPort: USUAL_PORT,
    port: options.port,
    access: options.access,
    onOpened: options.onOpened,
    requestMs: options.requestMs,
    posts: ["/mark"],
    answer: (request, response) => answer(request, response, options, files),
  });
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  options: ReviewOptions,
  files: ReadonlyMap<string, PageFile>,
): Promise<Refusal | undefined> {
  const { pathname, searchParams } = new URL(request.url!, "http://127.0.0.1");
  if (sendPageFile(request, response, files.get(pathname))) return undefined;
  if (pathname === "/items") return send(response, "application/json; charset=utf-8", JSON.stringify(itemsOf(options)));
  if (pathname === "/picture") {
    // Requested by its index in the list, never by a path.
    const uri = await thumbnailOf(resolve(options.dataset.root, requestedPicture(options, searchParams).path), 320);
    if (!uri) return { status: 404, words: "this picture cannot be read" };
    return send(response, "image/webp", Buffer.from(uri.split(",")[1], "base64"));
  }
  if (pathname === "/mark") {
    request.resume();
    const { path, label } = requestedPicture(options, searchParams);
    const as = searchParams.get("as");
    if (as !== null && !options.dataset.classes.includes(as)) throw new UsageError("there is no such class");
    options.manifest.mark(path, label, as);
    return send(response, "application/json; charset=utf-8", JSON.stringify({ marked: options.manifest.marks.size }));
  }
  return { status: 404, words: "not found" };
}

function requestedPicture({ pictures }: ReviewOptions, query: URLSearchParams): ReviewedPicture {
  const n = /^\d{1,7}$/.exec(query.get("n") ?? "")?.[0];
  const picture = n === undefined ? undefined : pictures[Number(n)];
  if (!picture) throw new UsageError("there is no such picture to review");
  return picture;
}

function itemsOf({ pictures, manifest, dataset, command, task = "review" }: ReviewOptions): ReviewItems {
  const items = pictures.map((picture, n) => {
    const mark = manifest.marks.get(picture.path);
    return { n, ...picture, ...(mark !== undefined && { mark }) };
  });
  return { task, classes: dataset.classes, manifest: manifest.path, command, items };
}

function send(response: ServerResponse, type: string, body: string | Buffer): undefined {
  response.writeHead(200, { "Content-Type": type, "Content-Length": Buffer.byteLength(body) });
  response.end(body);
  return undefined;
}
