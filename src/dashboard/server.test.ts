/** Who gets an answer and who does not, over real sockets. What the page itself does is in tests/e2e/dashboard.test.ts. */

import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { connect } from "node:net";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { pictureBytes, temporaryFolder, writeFile } from "../../tests/support/picture-folder.js";
import { writeRun } from "../../tests/support/run-folders.js";
import { rememberDataRoot } from "../data/named-folders.js";
import type { Events, RunCurves, RunDetails } from "./api.js";
import { type Dashboard, startDashboard } from "./server.js";

const base = new URL("../../dist/", import.meta.url);
const SECRET = "the secret";

/** A dashboard over a folder with a run, beside a folder that must not be seen. */
async function dashboard(pictures?: string): Promise<Dashboard & { folder: string; outside: string }> {
  const top = temporaryFolder();
  const [folder, outside] = [join(top, "runs"), join(top, "outside")];
  const dataRoots = pictures === undefined ? [] : [join(outside, pictures)];
  for (const root of dataRoots) mkdirSync(root, { recursive: true });
  const run = writeRun(join(folder, "one"));
  writeFile(run, "log.txt", "a line\n");
  writeFile(outside, "settings.json", SECRET);
  writeFile(outside, "log.txt", SECRET);
  const started = await startDashboard({ folder, dataRoots, port: 0, base });
  onTestFinished(() => started.close());
  await expect.poll(async () => (await fetch(`${started.url}api/run?run=one`)).status).toBe(200);
  return { ...started, folder, outside };
}

/** Sends bytes and reads until the other side has said all it says at once. */
function raw(port: number, bytes: string | Buffer): Promise<string> {
  return new Promise((done, fail) => {
    let text = "";
    const socket = connect(port, "127.0.0.1", () => socket.write(bytes));
    socket.setTimeout(300, () => socket.destroy());
    socket.on("data", (data) => {
      text += data.toString("latin1");
    });
    socket.on("close", () => done(text));
    // Cut off in the middle of what we were sending: what it said before counts.
    socket.on("error", (error: NodeJS.ErrnoException) =>
      ["EPIPE", "ECONNRESET"].includes(error.code ?? "") ? done(text) : fail(error),
    );
  });
}

const statusOf = (answer: string): number => Number(/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1] ?? 0);

const request = (path: string, headers: readonly string[], method = "GET"): string =>
  `${[`${method} ${path} HTTP/1.1`, ...headers, "Connection: close"].join("\r\n")}\r\n\r\n`;

test("only this machine's own names for it are answered", async () => {
  const { port } = await dashboard();
  const asked = async (...headers: string[]): Promise<number> => statusOf(await raw(port, request("/", headers)));
  for (const host of [`127.0.0.1:${port}`, `localhost:${port}`, `[::1]:${port}`])
    expect(await asked(`Host: ${host}`)).toBe(200);
  for (const host of [
    "evil.example",
    `evil.example:${port}`,
    "127.0.0.1",
    "localhost",
    `127.0.0.1.evil.example:${port}`,
    `0.0.0.0:${port}`,
    `LOCALHOST.:${port}`,
    "",
  ])
    expect(await asked(`Host: ${host}`), host).toBe(421);
  expect(await asked(`Host: 127.0.0.1:${port}`, "Host: evil.example")).not.toBe(200);
  expect(await asked()).toBe(400); // HTTP/1.1 asks for a Host
});

test("it listens on loopback only", async () => {
  const { port } = await dashboard();
  const others = Object.values(networkInterfaces())
    .flat()
    .filter((address) => address !== undefined && address.family === "IPv4" && !address.internal);
  for (const address of others) {
    const reached = await new Promise<boolean>((done) => {
      const socket = connect(port, address!.address, () => done(true));
      socket.on("error", () => done(false));
      socket.setTimeout(1_000, () => done(false));
    });
    expect(reached, address!.address).toBe(false);
  }
});

test("other pages are refused, and may only lead to the page itself", async () => {
  const { port, url } = await dashboard();
  const host = `Host: 127.0.0.1:${port}`;
  const asked = async (path: string, ...headers: string[]): Promise<number> =>
    statusOf(await raw(port, request(path, [host, ...headers])));
  const run = "/api/run?run=one";
  expect(await asked(run, `Origin: ${url.slice(0, -1)}`, "Sec-Fetch-Site: same-origin")).toBe(200);
  for (const origin of ["http://evil.example", "null", `https://127.0.0.1:${port}`, `http://127.0.0.1:${port + 1}`])
    expect(await asked(run, `Origin: ${origin}`), origin).toBe(403);
  for (const site of ["cross-site", "same-site"]) expect(await asked(run, `Sec-Fetch-Site: ${site}`)).toBe(403);
  const link = ["Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document"];
  expect(await asked("/", ...link)).toBe(200);
  expect(await asked(run, ...link)).toBe(403);
  expect(await asked("/", "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: iframe")).toBe(
    403,
  );
});

test("only requests that read are accepted", async () => {
  const { port } = await dashboard();
  const host = `Host: 127.0.0.1:${port}`;
  for (const method of ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"]) {
    const answer = await raw(port, request("/", [host], method));
    expect(statusOf(answer), method).toBe(405);
    expect(answer).toContain("Allow: GET, HEAD");
  }
  expect(statusOf(await raw(port, request("/", [host], "CONNECT")))).not.toBe(200);
  expect(statusOf(await raw(port, request("/", [host], "HEAD")))).toBe(200);
  expect(statusOf(await raw(port, `${request("/", [host, "Content-Length: 5"])}hello`))).toBe(400);
  expect(statusOf(await raw(port, request("/", [host, "Transfer-Encoding: chunked"])))).toBe(400);
});

test("no address leads out of the folder, however it is written", async () => {
  const { port, url, outside } = await dashboard();
  const host = `Host: 127.0.0.1:${port}`;
  const ways = [
    "../outside",
    "..%2foutside",
    "%2e%2e/outside",
    "%2e%2e%2foutside",
    "%252e%252e%252foutside",
    "..%5coutside",
    "one/../../outside",
    `${outside}`,
    "one%00",
    "%c0%ae%c0%ae/outside",
    "one/%2e",
    "./one",
    "one/",
  ];
  for (const way of ways)
    for (const path of [
      `/${way}/settings.json`,
      `/code/${way}/settings.json`,
      `/code/dashboard/page/../../../${way}`,
      `/api/run?run=${way}`,
      `/api/curves?run=${way}`,
      `/api/picture?run=${way}&n=0`,
      `/api/sweep?sweep=${way}`,
    ]) {
      const answer = await raw(port, request(path, [host]));
      expect([400, 404], path).toContain(statusOf(answer));
      expect(answer).not.toContain(SECRET);
    }
  for (const path of [
    "/code/cli/main.js",
    "/code/dashboard/server.js",
    "/code/",
    "/package.json",
    "/api",
    "/__proto__",
    "/api/constructor",
  ])
    expect((await fetch(new URL(path, url))).status, path).toBe(404);
  for (const target of ["http://evil.example/", "//evil.example/", "*", "one", "\\one"])
    expect(statusOf(await raw(port, request(target, [host]))), target).toBe(400);
});

test("files of a run that are links to others are not read", async () => {
  const { folder, outside, url } = await dashboard();
  const run = writeRun(join(folder, "two"), { done: false });
  symlinkSync(join(outside, "log.txt"), join(run, "log.txt"));
  symlinkSync(join(outside, "settings.json"), join(run, "environment.json"));
  symlinkSync(outside, join(run, "failure"));
  const ask = (path: string): Promise<Response> => fetch(`${url}api/${path}?run=two`);
  await fetch(`${url}api/events`).then((response) => response.body?.cancel()); // somebody watches, so it looks again
  await expect.poll(async () => (await ask("run")).status, { timeout: 10_000 }).toBe(200);
  const text = await (await ask("run")).text();
  expect(JSON.parse(text) as RunDetails).toMatchObject({ log: "", environment: null });
  expect(text).not.toContain(SECRET);
});

test("huge, slow and malformed requests only cause an error, and others are answered meanwhile", async () => {
  const { port, url } = await dashboard();
  const host = `Host: 127.0.0.1:${port}`;
  expect(statusOf(await raw(port, request(`/${"a".repeat(8_000)}`, [host])))).toBe(414);
  const answers = await Promise.all([
    raw(port, request(`/${"a".repeat(1 << 20)}`, [host])),
    raw(port, request("/", [host, `X-Long: ${"a".repeat(1 << 20)}`])),
    raw(port, request("/", [host, ...Array.from({ length: 20_000 }, (_, i) => `X-${i}: 1`)])),
    raw(port, Buffer.from([0, 1, 2, 255, 254, 13, 10, 13, 10])),
    raw(port, "GET / HTTP/9.9\r\n\r\n"),
    raw(port, "GET /\r\n\r\n"),
    raw(port, `GET / HTTP/1.1\r\n${host}\r\nBad Header\r\n\r\n`),
    raw(port, `GET / HTTP/1.1\r\n${host}\r\nContent-Length: -1\r\n\r\n`),
    raw(port, "GET /"), // and never a word more
    raw(port, "\r\n".repeat(1_000)),
  ]);
  for (const answer of answers) expect([0, 400, 414, 421, 431]).toContain(statusOf(answer));
  expect((await fetch(url)).status).toBe(200);
  expect((await fetch(`${url}api/toy?samples=1e99`)).status).toBe(400);
  expect((await fetch(`${url}api/report?selection=%F0%9F%92%A3`)).status).toBe(400);
});

test("every response, also an error, forbids content from other sources", async () => {
  const { port, url } = await dashboard();
  for (const path of ["", "style/base.css", "code/dashboard/page/main.js", "api/run?run=one", "none"]) {
    const { headers } = await fetch(url + path);
    const policy = headers.get("content-security-policy")!;
    for (const part of ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "base-uri 'none'"])
      expect(policy).toContain(part);
    expect(policy).not.toContain("unsafe");
    expect(headers.get("x-content-type-options")).toBe("nosniff");
    expect(headers.get("cache-control")).toBe("no-store");
    expect(headers.get("access-control-allow-origin")).toBeNull();
  }
  expect(await raw(port, request("/", ["Host: evil.example"]))).toContain("frame-ancestors 'none'");
});

test("pictures are shown from the dataset's own folder only, and only if they are pictures", async () => {
  const { folder, url, outside } = await dashboard("data");
  const data = join(outside, "data");
  writeFile(data, "photo/dog/1.png", await pictureBytes("1.png"));
  writeFile(outside, "secret.png", await pictureBytes("secret.png"));
  writeFile(data, "photo/dog/text.png", SECRET.repeat(9));
  symlinkSync(join(outside, "secret.png"), join(data, "photo", "dog", "link.png"));
  const paths = [
    "photo/dog/1.png",
    "../secret.png",
    join(outside, "secret.png"),
    "photo/dog/link.png",
    "photo/dog/text.png",
    "photo/dog/none.png",
  ];
  const assessment = {
    ...{ format: 1, model: "current", step: 0, classes: ["dog", "cat"] },
    domains: [
      {
        name: "photo",
        part: "held out",
        confusion: [
          [1, 2],
          [0, 3],
        ],
      },
    ],
    mostWrong: paths.map((path) => ({
      domain: "photo",
      path,
      part: "held out",
      label: "dog",
      predicted: "cat",
      confidence: 0.9,
      truth: 0.1,
    })),
  };
  const run = writeRun(join(folder, "three"), { settings: { data } as object });
  writeFileSync(join(run, "assessment.json"), JSON.stringify(assessment));
  await fetch(`${url}api/events`).then((response) => response.body?.cancel());
  const details = async (): Promise<Response> => fetch(`${url}api/run?run=three`);
  await expect.poll(async () => (await details()).status, { timeout: 10_000 }).toBe(200);
  const { assessment: shown } = (await (await details()).json()) as RunDetails;
  expect(shown?.confusion).toEqual([
    {
      domain: "photo",
      counts: [
        [1, 2],
        [0, 3],
      ],
    },
  ]);
  expect(shown?.mostWrong.map((picture) => picture.shown)).toEqual([true, false, false, false, true, false]);
  const statuses = await Promise.all(
    paths.map(async (_, n) => (await fetch(`${url}api/picture?run=three&n=${n}`)).status),
  );
  expect(statuses).toEqual([200, 400, 400, 400, 400, 400]);
  expect((await fetch(`${url}api/picture?run=three&n=0`)).headers.get("content-type")).toBe("image/png");
  for (const n of ["-1", "99", "0.5", "", "NaN", "length"])
    expect((await fetch(`${url}api/picture?run=three&n=${n}`)).status, n).toBe(400);
});

test("pictures are shown only below the watched folder, a folder given, or one that this user trained on", async () => {
  vi.stubEnv("XDG_CACHE_HOME", temporaryFolder());
  onTestFinished(() => void vi.unstubAllEnvs());
  const { folder, url, outside } = await dashboard("given");
  const assessed = { format: 1, classes: ["dog", "cat"], domains: [] };
  const wrong = {
    domain: "photo",
    path: "photo/dog/1.png",
    label: "dog",
    predicted: "cat",
    confidence: 0.9,
    truth: 0.1,
  };
  const data = {
    watched: join(folder, "pictures"),
    given: join(outside, "given"),
    "below given": join(outside, "given/below"),
    elsewhere: join(outside, "elsewhere"),
    "a link to elsewhere": join(outside, "given/link"),
    "beside given": join(outside, "given-not"),
  };
  mkdirSync(data.elsewhere);
  symlinkSync(data.elsewhere, data["a link to elsewhere"]);
  for (const [name, root] of Object.entries(data)) {
    writeFile(root, "photo/dog/1.png", await pictureBytes("1.png"));
    const run = writeRun(join(folder, name), { settings: { data: root } as object });
    writeFileSync(
      join(run, "assessment.json"),
      JSON.stringify({ ...assessed, mostWrong: [{ ...wrong, part: "validation" }] }),
    );
  }
  await fetch(`${url}api/events`).then((response) => response.body?.cancel());
  const last = `${url}api/run?run=${encodeURIComponent("beside given")}`;
  await expect.poll(async () => (await fetch(last)).status, { timeout: 10_000 }).toBe(200);
  const seen = async (): Promise<string[]> => {
    const names = await Promise.all(
      Object.keys(data).map(async (name) => {
        const run = encodeURIComponent(name);
        const { assessment } = (await (await fetch(`${url}api/run?run=${run}`)).json()) as RunDetails;
        const { ok } = await fetch(`${url}api/picture?run=${run}&n=0`);
        expect(assessment?.mostWrong.map(({ shown }) => shown)).toEqual([ok]);
        return ok ? [name] : [];
      }),
    );
    return names.flat();
  };
  expect(await seen()).toEqual(["watched", "given", "below given"]);
  rememberDataRoot(data.elsewhere);
  expect(await seen()).toEqual(["watched", "given", "below given", "elsewhere", "a link to elsewhere"]);
});

/** The names, sizes, times and contents of all there is in a folder. */
function fingerprint(folder: string): string {
  const hash = createHash("sha256");
  for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" }).sort()) {
    const path = join(folder, name);
    const { size, mtimeMs, ctimeMs, mode } = statSync(path);
    hash.update(JSON.stringify([name, size, mtimeMs, ctimeMs, mode]));
    if (statSync(path).isFile()) hash.update(readFileSync(path));
  }
  return hash.digest("hex");
}

test("no request changes anything on disk", async () => {
  const folder = join(temporaryFolder(), "runs");
  writeRun(join(folder, "one"));
  writeRun(join(folder, "two"), { done: false });
  mkdirSync(join(folder, "empty"));
  const before = fingerprint(folder);
  await using started = await startDashboard({ folder, port: 0, base });
  const { url } = started;
  await expect.poll(async () => (await fetch(`${url}api/run?run=two`)).status).toBe(200);
  const curves = (await (await fetch(`${url}api/curves?run=one`)).json()) as RunCurves;
  expect(curves.curves).toHaveLength(8);
  for (const path of [
    "",
    "api/run?run=one",
    "api/report",
    "api/report?published=1&selection=oracle",
    "api/toy?steps=10",
  ])
    expect((await fetch(url + path).then(async (response) => [response.status, await response.text()]))[0]).toBe(200);
  expect(fingerprint(folder)).toBe(before);
});

test("a stream starts with the folder, as a path and quoted for a shell", async () => {
  const folder = join(temporaryFolder(), "my runs");
  writeRun(join(folder, "one"));
  await using started = await startDashboard({ folder, port: 0, base });
  const response = await fetch(`${started.url}api/events`);
  const reader = response.body!.getReader();
  let text = "";
  while (!text.includes("event: progress")) text += Buffer.from((await reader.read()).value!).toString();
  await reader.cancel();
  expect(response.headers.get("content-type")).toContain("text/event-stream");
  const hello = JSON.parse(/event: hello\ndata: (.*)/.exec(text)![1]) as Events["hello"];
  expect(hello).toEqual({ folder: realpathSync(folder), typed: `'${realpathSync(folder)}'` });
});

test("a missing folder and a port in use are reported", async () => {
  await expect(startDashboard({ folder: join(temporaryFolder(), "none"), base })).rejects.toThrow("no such folder");
  const { port } = await dashboard();
  await expect(startDashboard({ folder: temporaryFolder(), port, base })).rejects.toThrow(`port ${port} is in use`);
  expect(existsSync(new URL("dashboard/page/main.js", base))).toBe(true);
});
