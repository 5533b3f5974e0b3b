/** Tests over real sockets who may use a server of a shared machine. */

import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { type LocalServer, type LocalServerOptions, startLocalServer } from "./local-server.js";

async function server(options: Partial<LocalServerOptions> = {}): Promise<LocalServer> {
  const answer: LocalServerOptions["answer"] = async ({ url }, response) => void response.end(`here ${url}`);
  const started = await startLocalServer({ name: "test", usualPort: 0, port: 0, answer, ...options });
  onTestFinished(() => started.close());
  return started;
}

const statusOf = async (url: string, init?: RequestInit): Promise<number> => (await fetch(url, init)).status;

test("the address with its token works once, and gives a cookie for this port that scripts and other sites cannot use", async () => {
  const next: string[] = [];
  const started = await server({ access: {}, onOpened: (address) => next.push(address) });
  const { address, url, port } = started;
  expect(address).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/\?token=[\w-]{22}$/);
  expect([await statusOf(url), await statusOf(`${url}api`), await statusOf(`${url}?token=x`)]).toEqual([403, 403, 403]);
  expect(await statusOf(address, { method: "HEAD" })).toBe(403); // what only looks at an address does not use it up
  const opened = await fetch(address);
  const [cookie, ...rest] = opened.headers.get("set-cookie")!.split("; ");
  expect(cookie).toMatch(new RegExp(`^nudge-test-${port}=[\\w-]{22}$`));
  expect(rest).toEqual(["Path=/", "HttpOnly", "SameSite=Strict"]);
  expect(await opened.text()).toContain('content="0;url=/"');
  expect(await statusOf(address)).toBe(403); // used
  const headers = { Cookie: `other=1; ${cookie}` };
  expect(await (await fetch(`${url}api`, { headers })).text()).toBe("here /api");
  expect(await statusOf(address, { headers })).toBe(200); // the same browser again
  expect(await statusOf(url, { headers: { Cookie: `${cookie}x` } })).toBe(403);
  expect(next).toEqual([started.address]);
  expect(await statusOf(started.address)).toBe(200); // another browser
});

test("a link from another site may open the page, and nothing else", async () => {
  const started = await server({ access: {} });
  const from = { "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document" };
  const visit = (url: string): Promise<number> =>
    new Promise((done, fail) => {
      request(url, { headers: from }, (response) => done(response.resume().statusCode!))
        .on("error", fail)
        .end(); // fetch() sets its own Sec-Fetch headers
    });
  expect(await visit(`${started.url}api`)).toBe(403);
  expect(await visit(started.address)).toBe(200);
});

test("programs use a bearer token, and a wrong one is refused", async () => {
  const { url, address } = await server({ access: { bearer: "0123456789abcdef" }, posts: ["/take"] });
  const answers = await Promise.all(
    [
      "Bearer 0123456789abcdef",
      "bearer  0123456789abcdef",
      "Bearer 0123456789abcdeF",
      "Basic 0123456789abcdef",
      "",
    ].map((Authorization) => fetch(`${url}take`, { method: "POST", body: "x", headers: { Authorization } })),
  );
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 401, 401, 401]);
  expect(answers[2].headers.get("www-authenticate")).toBe("Bearer");
  expect(await statusOf(address)).toBe(200); // for its page
});

test("a server without tokens answers everybody, as before", async () => {
  const { url, address } = await server();
  expect(address).toBe(url);
  expect(await statusOf(`${url}api`)).toBe(200);
});

/** The status of a request through a Unix socket, as curl --unix-socket sends it. */
const throughSocket = (socketPath: string, Host: string): Promise<number> =>
  new Promise((done, fail) => {
    request({ socketPath, path: "/api", headers: { Host } }, (response) => {
      response.resume();
      done(response.statusCode!);
    })
      .on("error", fail)
      .end();
  });

test("a Unix socket belongs to one user, and is forwarded to any port", async () => {
  const folder = mkdtempSync(join(tmpdir(), "nudge-socket-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const socket = join(folder, "s.sock");
  const started = await server({ socket, access: {} });
  expect(statSync(socket).mode & 0o777).toBe(0o600);
  expect(await throughSocket(socket, "localhost")).toBe(200);
  expect(await throughSocket(socket, "127.0.0.1:9999")).toBe(200);
  expect(await throughSocket(socket, "evil.example")).toBe(421);
  await expect(server({ socket })).rejects.toThrow(/--socket .*: cannot listen there/); // another server has it
  await started.close();
  expect(statSync(socket, { throwIfNoEntry: false })).toBeUndefined();
  writeFileSync(socket, "a file of the user");
  await expect(server({ socket })).rejects.toThrow(/cannot listen there/);
});

test.each(["/\\", "/\\evil.example/", "//evil.example/", "/a\\b", "/%", "http://evil.example/", "*"])(
  "GET %s is answered without an error of the server",
  async (path) => {
    const { port } = await server({
      answer: async ({ url }, response) => void response.end(new URL(url!, "http://127.0.0.1").pathname),
    });
    const status = await new Promise<number>((done) => {
      const socket = connect(port, "127.0.0.1", () =>
        socket.write(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nConnection: close\r\n\r\n`),
      );
      socket.once("data", (data) => done(Number(/^HTTP\/1\.1 (\d+)/.exec(String(data))?.[1])));
    });
    expect(status).toBe(path === "/%" ? 200 : 400);
  },
);
