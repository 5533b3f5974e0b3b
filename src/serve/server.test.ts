/** Tests the service over real sockets: its responses, its rejections, and that it keeps running. The page is tested in tests/e2e/serve.test.ts. */

import { connect } from "node:net";
import { join } from "node:path";
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
