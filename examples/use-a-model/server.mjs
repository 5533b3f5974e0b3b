/**
 * An HTTP server for a model, for programs on the same machine: `node examples/use-a-model/server.mjs runs/…/model.safetensors 8080`,
 * then `curl --data-binary @photo.jpg http://127.0.0.1:8080/predict`. It needs only Node's modules and the library.
 *
 * It listens on 127.0.0.1 only, limits the size of pictures, answers requests one after the other, and refuses requests if too many
 * are waiting. `nudge serve` is the complete server.
 */

import { createServer } from "node:http";
import { DataError, loadModel } from "nudge-dg";

const MOST_BYTES = 20 * 2 ** 20;
const MOST_WAITING = 16;
const REQUEST_MS = 30_000;

/** @typedef {{ status: number, body: object }} Answer */

/** Starts a server; close it with `close()`. @param {string} path @param {number} port */
export async function serve(path, port) {
  const model = await loadModel(path);
  let waiting = 0;
  /** @type {Promise<unknown>} */
  let last = Promise.resolve();

  /** Runs one after the other. @param {Buffer} picture @returns {Promise<Answer>} */
  const predict = (picture) => {
    waiting++;
    const own = last.then(async () => {
      try {
        const { label, probability, top, distance } = await model.predict(picture);
        return { status: 200, body: { class: label, probability, top, distance } };
      } catch (error) {
        if (error instanceof DataError) return { status: 422, body: { error: error.message } };
        throw error;
      } finally {
        waiting--;
      }
    });
    last = own.catch(() => {});
    return own;
  };

  const server = createServer(async (request, response) => {
    /** @param {Answer} answer */
    const send = ({ status, body }) => {
      response.writeHead(status, { "content-type": "application/json", "x-content-type-options": "nosniff" });
      response.end(`${JSON.stringify(body)}\n`);
    };
    try {
      // A page in a browser can send requests here too; its Host gives it away.
      if (!/^(127\.0\.0\.1|localhost|\[::1\])(:\d+)?$/.test(request.headers.host ?? ""))
        return send({ status: 403, body: { error: "this server answers to its own machine" } });
      if (request.method === "GET" && request.url === "/")
        return send({ status: 200, body: { classes: model.classes, domains: model.about.domains } });
      if (request.url !== "/predict") return send({ status: 404, body: { error: "there are / and /predict" } });
      if (request.method !== "POST") return send({ status: 405, body: { error: "POST a picture" } });
      if (request.headers["content-type"]?.startsWith("multipart/"))
        return send({
          status: 415,
          body: { error: "send the file's bytes alone, not a form: curl --data-binary @photo.jpg" },
        });
      if (waiting >= MOST_WAITING) return send({ status: 503, body: { error: "too many wait; try again" } });
      const picture = await readBody(request);
      if (picture === null) {
        response.setHeader("connection", "close");
        return send({ status: 413, body: { error: `a picture may have ${MOST_BYTES} bytes` } });
      }
      send(await predict(picture));
    } catch {
      if (!response.headersSent) send({ status: 500, body: { error: "it failed" } });
    }
  });
  server.requestTimeout = REQUEST_MS;
  await new Promise((done, fail) => {
    server.once("error", fail).listen(port, "127.0.0.1", () => done(undefined)); // the port may be taken
  });
  const address = /** @type {import("node:net").AddressInfo} */ (server.address());
  return {
    port: address.port,
    async close() {
      await new Promise((done) => server.close(done).closeAllConnections());
      await last;
      model.dispose();
    },
  };
}

/** The body of a request; null where it is too large. @param {import("node:http").IncomingMessage} request */
async function readBody(request) {
  if (Number(request.headers["content-length"] ?? 0) > MOST_BYTES) return null;
  const pieces = [];
  let size = 0;
  for await (const piece of request) {
    size += piece.length;
    if (size > MOST_BYTES) return null;
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

if (process.argv[1] === import.meta.filename) {
  const [path, asked = "8080"] = process.argv.slice(2);
  if (path === undefined) {
    console.error("usage: node server.mjs MODEL [PORT]");
    process.exit(2);
  }
  const { port } = await serve(path, Number(asked));
  console.log(`POST pictures to http://127.0.0.1:${port}/predict`);
}
