/** An npm registry on 127.0.0.1 with packages made by a test, and npm set up to use it. */

import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished, vi } from "vitest";
import type { NpmPackage } from "../../src/download/npm-tarball.js";
import { tarGzOf } from "./archives.js";

/** Answers a request instead of the registry; what is false or undefined lets the registry answer. */
export type Instead = (request: IncomingMessage, response: ServerResponse) => unknown;

export interface TestRegistry {
  readonly address: string;
  /** The paths that were requested, in order. */
  readonly asked: string[];
  /** Adds a package; its facts, as a catalogue pins them. */
  add(name: string, version: string, files: Readonly<Record<string, Uint8Array | string>>): NpmPackage;
  instead: Instead | undefined;
}

/** Starts a registry. npm uses it until the test ends, with no other settings of the user. */
export async function npmRegistry(): Promise<TestRegistry> {
  const tarballs = new Map<string, { wanted: NpmPackage; tarball: Buffer }>();
  const server = createServer((request, response) => {
    const path = decodeURIComponent(request.url ?? "");
    registry.asked.push(path);
    if (registry.instead?.(request, response)) return;
    const file = [...tarballs.values()].find(({ wanted }) => path === tarballPath(wanted));
    if (file) return void response.writeHead(200, { "content-length": file.tarball.length }).end(file.tarball);
    const found = tarballs.get(path.slice(1));
    if (!found) return void response.writeHead(404, { "content-type": "application/json" }).end("{}");
    const { name, version, integrity } = found.wanted;
    const dist = { integrity, tarball: `${registry.address}${tarballPath(found.wanted)}` };
    const facts = { name, "dist-tags": { latest: version }, versions: { [version]: { name, version, dist } } };
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(facts));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const registry: TestRegistry = {
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked: [],
    instead: undefined,
    add(name, version, files) {
      const entries = Object.entries({ "package.json": JSON.stringify({ name, version }), ...files });
      const tarball = tarGzOf(entries.map(([path, content]) => ({ name: `package/${path}`, content })));
      const integrity = `sha512-${createHash("sha512").update(tarball).digest("base64")}`;
      const wanted = { name, version, integrity, bytes: tarball.length };
      tarballs.set(name, { wanted, tarball });
      return wanted;
    },
  };
  for (const name of Object.keys(process.env))
    if (/^npm_config_|^(https?|no)_proxy$/i.test(name)) vi.stubEnv(name, undefined);
  vi.stubEnv("npm_config_registry", registry.address);
  vi.stubEnv("npm_config_userconfig", "/dev/null");
  vi.stubEnv("npm_config_globalconfig", "/dev/null/none");
  vi.stubEnv("npm_config_update_notifier", "false");
  vi.stubEnv("npm_config_fetch_retries", "0");
  onTestFinished(() => {
    vi.unstubAllEnvs();
    server.closeAllConnections();
    server.close();
  });
  return registry;
}

const tarballPath = ({ name, version }: NpmPackage): string => `/${name}/-/${name.split("/").at(-1)}-${version}.tgz`;
