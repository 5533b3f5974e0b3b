/**
 * One of many processes that want a lock, again and again; arguments: the lock, a log, how often, the odds of dying, and how long a
 * counter may stand still. Inside, it listens on a socket whose name only one process of this kernel can have, whatever file system
 * the lock is on: who finds another one that answers there writes it to the log, as does who finds its own lock lost. Now and then
 * it kills itself inside, as a machine would. It prints a dot for each turn that it ended.
 */

import { appendFileSync } from "node:fs";
import { connect, createServer, type Server } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { FolderLock } from "../../src/files/folder-lock.js";

const [lock, log, turns, odds, stillFor] = process.argv.slice(2);
const path = `\0${log}`;

/** Listens, or gives the error of listening. */
const listen = (server: Server): Promise<Error | undefined> =>
  new Promise((done) => {
    server.once("error", done);
    server.listen(path, () => done(undefined));
  });

/** Who answers at the socket; undefined if nobody does, as where its process is dying. */
const whoIsInside = (): Promise<string | undefined> =>
  new Promise((done) => {
    const socket = connect(path);
    socket.setTimeout(2_000, () => socket.destroy());
    socket.once("data", (pid) => {
      done(String(pid));
      socket.destroy();
    });
    socket.on("error", () => {});
    socket.on("close", () => done(undefined));
  });

for (let turn = 0; turn < Number(turns); turn++) {
  using taken = await FolderLock.take(lock, { poll: 1, stillFor: Number(stillFor) });
  const server = createServer((socket) => socket.on("error", () => {}).end(String(process.pid)));
  while (await listen(server)) {
    const other = await whoIsInside();
    if (other === undefined) continue;
    appendFileSync(log, `${process.pid}: ${other} is inside too\n`);
    break;
  }
  await sleep(5); // to answer
  if (Math.random() < Number(odds)) process.kill(process.pid, "SIGKILL");
  if (!taken.held) appendFileSync(log, `${process.pid}: lost\n`);
  await new Promise((done) => server.close(done));
  process.stdout.write(".");
}
