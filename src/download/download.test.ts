import { createHash, randomBytes } from "node:crypto";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { runChild } from "../../tests/support/child.js";
import { mountSmallDisk } from "../../tests/support/small-disk.js";
import { type DownloadOptions, download, type Wanted } from "./download.js";

const FILE = randomBytes(300_000);
const SHA256 = createHash("sha256").update(FILE).digest("hex");

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

let folder: string;
let handle: Handler;
let asked: string[];
const ends: (() => void)[] = [];
const disk = mountSmallDisk();

/** Starts a server on a free port of 127.0.0.1, ended after the test; its address. */
async function serve(handler: Handler, onConnect?: Parameters<typeof connectThrough>[0]): Promise<string> {
  const server = createServer(handler);
  if (onConnect) connectThrough(onConnect)(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  ends.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Lets a server be a proxy for CONNECT as well. */
function connectThrough(seen: (target: string) => void) {
  return (server: ReturnType<typeof createServer>): void => {
    server.on("connect", (request, socket) => {
      seen(`CONNECT ${request.url}`);
      const [host, port] = request.url!.split(":");
      const through = connect(Number(port), host, () => {
        socket.write("HTTP/1.1 200 Connection established\r\n\r\n");
        through.pipe(socket).pipe(through);
      });
      for (const end of [through, socket]) end.on("error", () => {});
    });
  };
}

let origin: string;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "nudge-download-"));
  for (const name of ["HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"]) {
    vi.stubEnv(name, "");
    vi.stubEnv(name.toLowerCase(), "");
  }
  asked = [];
  handle = whole;
  origin = await serve((request, response) => {
    asked.push(`${request.url} ${request.headers.range ?? ""}`.trim());
    handle(request, response);
  });
});
afterEach(() => {
  for (const end of ends.splice(0)) end();
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true });
});

const HEADERS = { "content-type": "application/octet-stream", etag: '"v1"', "accept-ranges": "bytes" };

/** A server as it should be: ranges, and the whole where the version is another. */
const whole: Handler = (request, response) => {
  const from = Number(/bytes=(\d+)-/.exec(request.headers.range ?? "")?.[1] ?? 0);
  const sameVersion = (request.headers["if-range"] ?? HEADERS.etag) === HEADERS.etag;
  if (from >= FILE.length) return void response.writeHead(416, { "content-range": `bytes */${FILE.length}` }).end();
  if (from === 0 || !sameVersion)
    return void response.writeHead(200, { ...HEADERS, "content-length": FILE.length }).end(FILE);
  const range = `bytes ${from}-${FILE.length - 1}/${FILE.length}`;
  response.writeHead(206, { ...HEADERS, "content-range": range, "content-length": FILE.length - from });
  response.end(FILE.subarray(from));
};

/** Sends so many bytes of an answer, then breaks the connection. */
const cutAfter =
  (bytes: number): Handler =>
  (request, response) => {
    const from = Number(/bytes=(\d+)-/.exec(request.headers.range ?? "")?.[1] ?? 0);
    const range = from > 0 && { "content-range": `bytes ${from}-${FILE.length - 1}/${FILE.length}` };
    response.writeHead(from > 0 ? 206 : 200, { ...HEADERS, "content-length": FILE.length - from, ...range });
    response.write(FILE.subarray(from, from + bytes), () => setTimeout(() => response.destroy(), 20));
  };

const notes: string[] = [];
const get = (wanted: Partial<Wanted> = {}, options: DownloadOptions = {}, name = "weights.pth") =>
  download({ url: `${origin}/weights.pth`, sha256: SHA256.slice(0, 8), ...wanted }, join(folder, name), {
    wait: 1,
    onNote: (text) => notes.push(text),
    ...options,
  });
const stored = (): Buffer => readFileSync(join(folder, "weights.pth"));

test("a file is downloaded, checked and put in its place, and nothing else is left", async () => {
  const progress: number[] = [];
  const done = await get({ bytes: FILE.length }, { onProgress: (bytes) => progress.push(bytes) });
  expect(done).toMatchObject({ path: join(folder, "weights.pth"), already: false, bytes: FILE.length, sha256: SHA256 });
  expect(stored().equals(FILE)).toBe(true);
  expect(progress.at(-1)).toBe(FILE.length);
  expect(readdirSync(folder)).toEqual(["weights.pth"]);
});

test("connections that break are resumed from the byte where they broke", async () => {
  const cuts = [cutAfter(100_000), cutAfter(50_000)];
  handle = (request, response) => (cuts.shift() ?? whole)(request, response);
  await get();
  expect(stored().equals(FILE)).toBe(true);
  expect(asked).toEqual(["/weights.pth", "/weights.pth bytes=100000-", "/weights.pth bytes=150000-"]);
});

test("the partial file of an earlier process is resumed, or started again if the file has changed since", async () => {
  handle = cutAfter(100_000);
  await expect(get({}, { tries: 1 })).rejects.toThrow(/broke.*run the same command again to resume/s);
  expect(readdirSync(folder).sort()).toContain(".weights.pth.part");
  handle = whole;
  await get();
  expect(asked.at(-1)).toBe("/weights.pth bytes=100000-");
  expect(stored().equals(FILE)).toBe(true);

  rmSync(join(folder, "weights.pth"));
  writeFileSync(join(folder, ".weights.pth.part"), randomBytes(1000));
  writeFileSync(join(folder, ".weights.pth.part.json"), JSON.stringify({ version: '"v0"' }));
  await get();
  expect(stored().equals(FILE)).toBe(true);
});

test("a part with wrong bytes is detected at the end, and the file is downloaded again from its start", async () => {
  writeFileSync(join(folder, ".weights.pth.part"), randomBytes(1000));
  await get();
  expect(asked).toEqual(["/weights.pth bytes=1000-", "/weights.pth"]);
  expect(stored().equals(FILE)).toBe(true);
});

test("a part that is complete already needs no byte more", async () => {
  writeFileSync(join(folder, ".weights.pth.part"), FILE);
  await get();
  expect(asked).toEqual([`/weights.pth bytes=${FILE.length}-`]);
  expect(stored().equals(FILE)).toBe(true);
});

test("a server without ranges sends the whole file again", async () => {
  const cuts = [cutAfter(100_000)];
  handle = (request, response) => {
    const cut = cuts.shift();
    if (cut) return cut(request, response);
    response.writeHead(200, { "content-type": "application/octet-stream", "content-length": FILE.length }).end(FILE);
  };
  await get();
  expect(stored().equals(FILE)).toBe(true);
});

test("a server that sends another range than the requested one is refused", async () => {
  writeFileSync(join(folder, ".weights.pth.part"), FILE.subarray(0, 1000));
  let first = true;
  handle = (request, response) => {
    if (!first) return whole(request, response);
    first = false;
    response.writeHead(206, { ...HEADERS, "content-range": `bytes 500-${FILE.length - 1}/${FILE.length}` });
    response.end(FILE.subarray(500));
  };
  await get();
  expect(stored().equals(FILE)).toBe(true);
});

test("redirects are followed, also to another host, up to a limit", async () => {
  const other = await serve(whole);
  handle = (request, response) => {
    if (request.url === "/weights.pth") response.writeHead(302, { location: "/moved" }).end();
    else if (request.url === "/moved") response.writeHead(301, { location: `${other}/elsewhere` }).end();
    else response.writeHead(302, { location: request.url }).end();
  };
  await get();
  expect(stored().equals(FILE)).toBe(true);
  await expect(get({ url: `${origin}/circle` }, {}, "other.pth")).rejects.toThrow("redirected more than 10 times");
  handle = (_, response) => void response.writeHead(302, { location: "ftp://example.org/file" }).end();
  await expect(get({}, {}, "other.pth")).rejects.toThrow("which is not encrypted; refused");
});

test("wrong bytes are deleted, and the error has both hashes", async () => {
  handle = (_, response) => void response.writeHead(200, { "content-length": 5 }).end("wrong");
  const sha256 = createHash("sha256").update("wrong").digest("hex");
  await expect(get()).rejects.toThrow(
    `not the published one: its SHA-256 is ${sha256}, expected ${SHA256.slice(0, 8)}…. It was deleted`,
  );
  expect(readdirSync(folder).filter((name) => !name.endsWith(".lock"))).toEqual([]);
});

test("a file of another length is refused before the download, or, without a stated length, when it becomes too long", async () => {
  await expect(get({ bytes: 10 })).rejects.toThrow(
    "the server has a file of 300000 bytes, and the published one has 10",
  );
  handle = (_, response) => void response.writeHead(200).end(FILE);
  await expect(get({ bytes: 10 })).rejects.toThrow("more than the expected 10 bytes came");
});

test("a missing file, a refusal and a page instead of a file fail immediately; a busy server is asked again", async () => {
  handle = (_, response) => void response.writeHead(404).end();
  await expect(get()).rejects.toThrow("answered with status 404 (there is no such file)");
  handle = (_, response) => void response.writeHead(403).end();
  await expect(get()).rejects.toThrow("status 403 (it refuses access)");
  handle = (_, response) => void response.writeHead(200, { "content-type": "text/html; charset=utf-8" }).end("<form>");
  await expect(get()).rejects.toThrow("answered with a web page instead of a file");
  expect(asked).toHaveLength(3);
  const busy = [503, 429];
  handle = (request, response) => {
    const status = busy.shift();
    if (status) response.writeHead(status).end();
    else whole(request, response);
  };
  await get();
  expect(stored().equals(FILE)).toBe(true);
});

test("without a network the error appears immediately, and says what to check", async () => {
  await expect(get({ url: "http://127.0.0.1:9/weights.pth" })).rejects.toThrow(
    /no answer from http:\/\/127.0.0.1:9\/weights.pth: .*ECONNREFUSED.* Check the network, and the proxy \(HTTPS_PROXY\)/s,
  );
});

test("a proxy of the environment is used, and NO_PROXY excepts hosts", async () => {
  const through: string[] = [];
  const proxy = await serve(
    (request, response) => {
      through.push(`GET ${request.url}`);
      whole(request, response);
    },
    (target) => through.push(target),
  );
  vi.stubEnv("HTTP_PROXY", proxy);
  await get();
  expect(through).toHaveLength(1);
  expect(through[0]).toContain(new URL(origin).host);
  vi.stubEnv("NO_PROXY", "127.0.0.1");
  await get({}, {}, "other.pth");
  expect(through).toHaveLength(1);
  vi.stubEnv("NO_PROXY", "");
  vi.stubEnv("HTTP_PROXY", "http://127.0.0.1:9");
  await expect(get({}, { tries: 1 }, "third.pth")).rejects.toThrow(/no answer.*Check the network, and the proxy/s);
});

test("two processes that need the same file download it once", async () => {
  handle = (request, response) => void setTimeout(() => whole(request, response), 300);
  const program = new URL("../../tests/support/download-once.ts", import.meta.url);
  const run = () =>
    runChild(program, { args: [`${origin}/weights.pth`, join(folder, "weights.pth")], timeout: 30_000 });
  const outcomes = (await Promise.all([run(), run()])).map(({ stdout }) => JSON.parse(stdout));
  expect(outcomes.map(({ already }) => already).sort()).toEqual([false, true]);
  expect(outcomes.every(({ sha256 }) => sha256 === SHA256)).toBe(true);
  expect(asked).toHaveLength(1);
  expect(readdirSync(folder)).toEqual(["weights.pth"]);
});

test.skipIf(!disk)(
  "a disk that is too small is reported before the download, one that fills up during it keeps what came (needs root)",
  async () => {
    const path = join(disk!.folder, "weights.pth");
    const wanted = { url: `${origin}/weights.pth`, sha256: SHA256 };
    disk!.leave(100_000);
    await expect(download(wanted, path)).rejects.toThrow(
      /300 kB are missing, and the disk of .* has .* left\. Make room/,
    );
    handle = (_, response) => void response.writeHead(200, { "content-type": "application/octet-stream" }).end(FILE); // no length
    await expect(download(wanted, path)).rejects.toThrow(
      /the disk is full \(ENOSPC\)\. Make room; run the same command again to resume/,
    );
    expect(existsSync(path)).toBe(false);
    disk!.makeRoom();
    handle = whole;
    await download(wanted, path);
    expect(readFileSync(path).equals(FILE)).toBe(true);
  },
);
