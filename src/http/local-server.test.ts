/** Tests slow and greedy clients over real sockets: they must not prevent responses to other clients. */

import type { ServerResponse } from "node:http";
import { connect, type Socket } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { type LocalServer, type LocalServerOptions, startLocalServer } from "./local-server.js";

/** A server that responds at "/", streams at "/stream", sends much data at "/large" and works for a while at "/work". */
async function server(options: Partial<LocalServerOptions> = {}): Promise<LocalServer> {
  const answer = async ({ url }: { url?: string }, response: ServerResponse): Promise<undefined> => {
    if (url === "/stream") {
      response.writeHead(200, { "Content-Type": "text/event-stream" });
      response.write("retry: 1000\n\n");
    } else if (url === "/work") {
      setTimeout(() => response.end("done"), 2_000);
    } else response.end(url === "/large" ? Buffer.alloc(64 << 20) : "here");
  };
  const started = await startLocalServer({ name: "test", usualPort: 0, port: 0, answer, ...options });
  onTestFinished(() => started.close());
  return started;
}

/** Opens connections that send some bytes and then nothing, and counts how many the server closed. */
function hold({ port }: LocalServer, count: number, bytes: string, { read = true } = {}): { closed: number } {
  const held = { closed: 0 };
  const sockets: Socket[] = [];
  for (let i = 0; i < count; i++) {
    const socket = connect(port, "127.0.0.1", () => socket.write(bytes));
    if (read) socket.resume();
    else socket.pause();
    socket.on("close", () => held.closed++);
    socket.on("error", () => {});
    sockets.push(socket);
  }
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
  });
  return held;
}

const get = (path: string, { port }: LocalServer): string =>
  `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nConnection: close\r\n\r\n`;
const answered = async ({ url }: LocalServer): Promise<string> =>
  (await fetch(url, { headers: { Connection: "close" }, signal: AbortSignal.timeout(5_000) })).text();

test("300 half requests leave room for a whole one, and time out", async () => {
  const started = await server({ requestMs: 1_500 });
  const held = hold(started, 300, "GET / HTTP/1.1\r\nHost: 127");
  await expect.poll(() => started.connections).toBe(192);
  expect(await answered(started)).toBe("here");
  await expect.poll(() => started.connections, { timeout: 6_000 }).toBe(0);
  await expect.poll(() => held.closed).toBe(300);
});

test("of 300 event streams the oldest make room for a request", async () => {
  const started = await server();
  const held = hold(started, 300, get("/stream", started));
  await expect.poll(() => held.closed, { timeout: 5_000 }).toBe(108);
  expect(await answered(started)).toBe("here");
});

test("clients that do not read their answers make room, and are closed after a silence", async () => {
  const started = await server({ limits: { most: 8, silenceMs: 1_000 } });
  hold(started, 8, get("/large", started), { read: false });
  await expect.poll(() => started.connections).toBe(8);
  expect(await answered(started)).toBe("here");
  await expect.poll(() => started.connections, { timeout: 8_000 }).toBe(0);
});

test("a request that the server is working on is never closed for another", async () => {
  const started = await server({ limits: { most: 4, mostPerAddress: 4 } });
  const working = Array.from({ length: 4 }, async () => (await fetch(`${started.url}work`)).text());
  await expect.poll(() => started.connections).toBe(4);
  await expect(answered(started)).rejects.toThrow();
  expect(await Promise.all(working)).toEqual(["done", "done", "done", "done"]);
  expect(await answered(started)).toBe("here");
});

test("one address cannot take all connections", async () => {
  const started = await server({ limits: { most: 20, mostPerAddress: 10 } });
  hold(started, 30, "GET /");
  await expect.poll(() => started.connections).toBe(10);
});

test("a body is read only where one is taken", async () => {
  const started = await server({ posts: ["/take"] });
  const post = (path: string): Promise<Response> => fetch(started.url + path, { method: "POST", body: "x" });
  expect((await post("take")).status).toBe(200);
  const refused = await post("");
  expect([refused.status, refused.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
  const taken = await fetch(`${started.url}take`);
  expect([taken.status, taken.headers.get("allow")]).toEqual([405, "POST"]);
  expect(await taken.text()).toContain("only POST is allowed");
  const foreign = { method: "POST", body: "x", headers: { Origin: "http://evil.example" } };
  expect((await fetch(`${started.url}take`, foreign)).status).toBe(403);
});

test("an answer that takes longer than the limit of silence arrives", async () => {
  const started = await server({ limits: { silenceMs: 300 } });
  const response = await fetch(`${started.url}work`); // 2 seconds
  expect(await response.text()).toBe("done");
  const held = hold(started, 3, "");
  await expect.poll(() => held.closed, { timeout: 5_000 }).toBe(3); // silent clients are still closed
});

test("a server that is closed finishes the requests it has, and ends what is idle at once", async () => {
  const started = await server();
  const idle = hold(started, 3, "GET / HT");
  const streams = hold(started, 2, get("/stream", started));
  const working = Array.from({ length: 20 }, async () => (await fetch(`${started.url}work`)).text());
  await expect.poll(() => started.connections).toBe(25);
  const closed = started.close();
  await expect.poll(() => [idle.closed, streams.closed], { timeout: 1_000 }).toEqual([3, 2]);
  await expect(answered(started)).rejects.toThrow(); // no new ones
  expect(new Set(await Promise.all(working))).toEqual(new Set(["done"]));
  await closed;
});

test("a server that is closed waits for no request longer than it says", async () => {
  const started = await server({ finishMs: 300 });
  const working = fetch(`${started.url}work`).then((response) => response.text());
  working.catch(() => {});
  await expect.poll(() => started.connections).toBe(1);
  const begun = performance.now();
  await started.close();
  expect(performance.now() - begun).toBeLessThan(1_500);
  await expect(working).rejects.toThrow();
});
