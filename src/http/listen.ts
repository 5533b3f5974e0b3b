/** Finds a port of this machine to listen on: the requested one, or a free one near the default. */

import type { Server } from "node:http";
import { UsageError } from "../errors.js";

const TRIES = 20;

/** Listens on the loopback address and returns the port. */
export async function listen(
  server: Server,
  { name, port: asked, usualPort }: { name: string; port?: number; usualPort: number },
): Promise<number> {
  const ports = asked === undefined ? Array.from({ length: TRIES }, (_, i) => usualPort + i) : [asked];
  for (const port of ports) {
    const problem = await tryPort(server, port);
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

function tryPort(server: Server, port: number): Promise<NodeJS.ErrnoException | undefined> {
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
    server.listen(port, "127.0.0.1");
  });
}
