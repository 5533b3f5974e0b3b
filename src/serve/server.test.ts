/** Tests the service over real sockets: its responses, its rejections, and that it keeps running. The page is tested in tests/e2e/serve.test.ts. */

import { connect } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import sharp from "sharp";
import { expect, onTestFinished, test } from "vitest";
import { writeMadeModel } from "../../tests/support/made-model.js";
import { pictureBytes, temporaryFolder } from "../../tests/support/picture-folder.js";
import { liveTensors } from "../engine/device.js";
import type { LocalServer } from "../http/local-server.js";
import { loadModel, type Model } from "../model/index.js";
import type { ModelFacts, PredictedPicture } from "./api.js";
import { type ServeOptions, startServe } from "./server.js";

const base = new URL("../../dist/", import.meta.url);

async function serve(options: Partial<ServeOptions> = {}): Promise<LocalServer & { model: Model }> {
  const path = join(temporaryFolder(), "model.safetensors");
  const quantiles = Array.from({ length: 101 }, (_, i) => i / 100);
  const calibration = { temperature: 2, count: 9, quantiles };
  writeMadeModel(path, { inputShape: [3, 16, 16], about: { calibration } });
  const model = await loadModel(path);
  const server = await startServe({ model, port: 0, base, ...options });
  onTestFinished(async () => {
    await server.close();
    model.dispose();
  });
  return Object.assign(server, { model });
}

const post = (
  { url }: LocalServer,
  body: string | Uint8Array<ArrayBuffer> | FormData,
  path = "predict",
  headers = {},
): Promise<Response> => fetch(url + path, { method: "POST", body, headers });

test("a picture gets the answer that predict gives, with the model's temperature and limits", async () => {
  const server = await serve({ unknown: 0.9 });
  const bytes = new Uint8Array(await pictureBytes("a.png", 1, { width: 40, height: 30 }));
  const response = await post(server, bytes, "predict?top=2");
  const answer = (await response.json()) as PredictedPicture;
  const expected = await server.model.predict(bytes, { top: 2 });
  expect([response.status, response.headers.get("content-type")]).toEqual([200, "application/json; charset=utf-8"]);
  expect(answer.class).toBe(expected.label);
  expect(answer.probability).toBeCloseTo(expected.probability, 6);
  expect(answer.top).toHaveLength(2);
  expect(answer.unknown).toBe(expected.probability < 0.9 ? "uncertain" : null);
  const facts = (await (await fetch(`${server.url}model`)).json()) as ModelFacts;
  expect(facts).toMatchObject({ classes: ["cat", "dog", "fox"], temperature: 2, unknown: { probability: 0.9 } });
});

test("other files, large files, forms and empty requests are refused with clear errors, and the service stays up", async () => {
  const server = await serve({ mostBytes: 10_000 });
  const statuses = await Promise.all([
    post(server, "text"),
    post(server, new Uint8Array(20_000)),
    post(server, new FormData()),
    post(server, ""),
    post(server, "text", "predict?top=0"),
    post(server, "text", "elsewhere"),
    fetch(`${server.url}predict`),
    fetch(`${server.url}nowhere`),
    post(server, "text", "predict", { Origin: "http://evil.example" }),
  ]);
  expect(statuses.map(({ status }) => status)).toEqual([422, 413, 415, 400, 400, 405, 405, 404, 403]);
  expect(await (await fetch(`${server.url}health`)).json()).toEqual({ status: "ok", waiting: 0 });
});

test("a picture that never arrives is given up, and its slot is free", async () => {
  const server = await serve({ requestMs: 1_000 });
  const socket = connect(server.port, "127.0.0.1");
  onTestFinished(() => void socket.destroy());
  socket.on("error", () => {});
  socket.write(`POST /predict HTTP/1.1\r\nHost: 127.0.0.1:${server.port}\r\nContent-Length: 100000\r\n\r\nhalf`);
  await expect.poll(() => server.connections).toBe(1);
  await expect.poll(() => server.connections, { timeout: 5_000 }).toBe(0);
  expect((await post(server, new Uint8Array(await pictureBytes("a.png")))).status).toBe(200);
});

test("clients that announce pictures and send nothing take nothing from others", async () => {
  const server = await serve({ heldBytes: 1 << 20 });
  const sockets = Array.from({ length: 40 }, () => {
    const socket = connect(server.port, "127.0.0.1");
    socket.on("error", () => {});
    socket.write(`POST /predict HTTP/1.1\r\nHost: 127.0.0.1:${server.port}\r\nContent-Length: 30000000\r\n\r\n`);
    return socket;
  });
  onTestFinished(() => sockets.forEach((socket) => void socket.destroy()));
  await expect.poll(() => server.connections).toBe(40);
  const body = new Uint8Array(await pictureBytes("a.png"));
  const answers = await Promise.all(Array.from({ length: 50 }, () => post(server, body)));
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
});

test("when the memory for pictures is full, the slowest sender is given up", async () => {
  const server = await serve({ heldBytes: 1 << 20 });
  let refused = 0;
  const sockets = Array.from({ length: 8 }, () => {
    const socket = connect(server.port, "127.0.0.1");
    socket.on("error", () => {});
    socket.on("data", (data) => {
      if (String(data).startsWith("HTTP/1.1 503")) refused++;
    });
    socket.write(`POST /predict HTTP/1.1\r\nHost: 127.0.0.1:${server.port}\r\nContent-Length: 30000000\r\n\r\n`);
    socket.write(Buffer.alloc(125_000)); // a million bytes in all, which never become a picture
    return socket;
  });
  onTestFinished(() => sockets.forEach((socket) => void socket.destroy()));
  await expect.poll(() => server.connections).toBe(8);
  await sleep(400);
  // A picture of a million bytes: a real one, with more after its end.
  const picture = await pictureBytes("a.png");
  const body = new Uint8Array(Buffer.concat([picture, Buffer.alloc(1_000_000 - picture.length)]));
  expect((await post(server, body)).status).toBe(200);
  await expect.poll(() => refused).toBeGreaterThan(6);
});

test("pictures of huge sizes neither take much memory nor hold up others", { timeout: 120_000 }, async () => {
  const server = await serve();
  const side = 2500; // 6 million pixels at 19 bytes
  const create = { width: side, height: side, channels: 3, background: "red" } as const;
  const large = new Uint8Array(await sharp({ create }).avif({ effort: 0 }).toBuffer());
  expect(large.length).toBeLessThan(10_000);
  const small = new Uint8Array(await pictureBytes("a.png"));
  await post(server, small);
  const before = process.memoryUsage.rss();
  const slow = Array.from({ length: 6 }, () => post(server, large));
  let [most, slowest] = [0, 0];
  for (let i = 0; i < 8; i++) {
    const begun = performance.now();
    expect((await post(server, small)).status).toBe(200);
    slowest = Math.max(slowest, performance.now() - begun);
    most = Math.max(most, process.memoryUsage.rss() - before);
  }
  for (const { status } of await Promise.all(slow)) expect(status).toBe(200);
  expect(most).toBeLessThan(400e6); // one at a time takes 119 MB; six at once take 700 MB
  expect(slowest).toBeLessThan(5_000);
});

test("32 clients share batches, metrics count them, and neither tensors nor memory grow", async () => {
  const server = await serve();
  const pictures = await Promise.all(
    Array.from(
      { length: 8 },
      async (_, i) => new Uint8Array(await pictureBytes("a.jpg", i, { width: 64, height: 64 })),
    ),
  );
  const ask = async (count: number): Promise<void> => {
    let next = 0;
    const client = async (): Promise<void> => {
      for (let i = next++; i < count; i = next++) {
        const response = await post(server, pictures[i % pictures.length]);
        expect(response.status).toBe(200);
        await response.arrayBuffer();
      }
    };
    await Promise.all(Array.from({ length: 32 }, client));
  };
  await ask(100); // fills pools and caches
  const [tensors, memory] = [liveTensors(), process.memoryUsage.rss()];
  await ask(400);
  expect(liveTensors()).toBe(tensors);
  expect(process.memoryUsage.rss() - memory).toBeLessThan(100 << 20);
  const metrics = await (await fetch(`${server.url}metrics`)).text();
  const metric = (name: string): number => Number(new RegExp(`^${name} (\\S+)$`, "m").exec(metrics)?.[1]);
  expect(metric('nudge_requests_total{status="200"}')).toBe(500);
  expect(metric("nudge_predict_seconds_count")).toBe(500);
  expect(metric("nudge_batches_total")).toBeLessThan(500);
  expect(metric("nudge_waiting")).toBe(0);
}, 180_000);
