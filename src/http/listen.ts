/** Finds a place of this machine to listen at: the requested port, a free one near the default, or a Unix socket. */

import { lstatSync, rmSync } from "node:fs";
import type { Server } from "node:http";
import { connect } from "node:net";
import { UsageError } from "../errors.js";

const TRIES = 20;

/** Listens on the loopback address and returns the port. */
export async function listen(
  server: Server,
  { name, port: asked, usualPort }: { name: string; port?: number; usualPort: number },
): Promise<number> {
  const ports = asked === undefined ? Array.from({ length: TRIES }, (_, i) => usualPort + i) : [asked];
  for (const port of ports) {
    const problem = await tryListening(server, () => server.listen(port, "127.0.0.1"));
    if (problem === undefined) {
      const address = server.address();
      return typeof address === "object" && address ? address.port : port;
    }
    if (problem.code !== "EADDRINUSE" && problem.code !== "EACCES") throw problem;
  }
  const which = asked === undefined ? `ports ${ports[0]} to ${ports.at(-1)} are` : `port ${asked} is`;
  throw new UsageError(
    `${name}: ${which} in use or not allowed. Choose another one with --port, or use --port 0 for any free port`,
  );
}

/** Listens on a Unix socket that only this user can connect to. One that a killed server left is replaced. */
export async function listenOnSocket(server: Server, path: string, name: string): Promise<void> {
  if (await isAbandoned(path)) rmSync(path);
  const before = process.umask(0o177); // the socket is made within listen(), and never has other rights
  let listening: Promise<NodeJS.ErrnoException | undefined>;
  try {
    listening = tryListening(server, () => server.listen(path));
  } finally {
    process.umask(before);
  }
  const problem = await listening;
  if (problem !== undefined)
    throw new UsageError(`${name}: --socket ${path}: cannot listen there: ${problem.message}. Name another file`);
}

/** Whether there is a socket that no process listens on. */
async function isAbandoned(path: string): Promise<boolean> {
  if (!lstatSync(path, { throwIfNoEntry: false })?.isSocket()) return false;
  return new Promise((done) => {
    const socket = connect(path);
    socket.once("connect", () => done(false));
    socket.once("error", (error: NodeJS.ErrnoException) => done(error.code === "ECONNREFUSED"));
    socket.once("connect", () => socket.destroy());
  });
}

function tryListening(server: Server, listen: () => void): Promise<NodeJS.ErrnoException | undefined> {
  return new Promise((done) => {
    const failed = (error: NodeJS.ErrnoException): void => {
      server.off("listening", listening);
      done(error);
    };
    const listening = (): void => {
      server.off("error", failed);
      done(undefined);
    };
    server.once("error", failed);
    server.once("listening", listening);
    listen();
  });
}
