/**
 * One of many processes that want a lock, again and again; arguments: the lock, a log, how often, the odds of dying. Inside, it
 * says so in a file; who finds another one there that lives writes it to the log, as does who finds its own lock lost. Now
 * and then it kills itself inside, as a machine would. It prints a dot for each turn that it ended.
 */

import { appendFileSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { FolderLock } from "../../src/files/folder-lock.js";
import { lifeOf, type ProcessIdentity, thisProcess } from "../../src/files/process-identity.js";

const [lock, log, turns, odds] = process.argv.slice(2);
const inside = `${lock}.inside`;

function whoIsInside(): ProcessIdentity | undefined {
  try {
    return JSON.parse(readFileSync(inside, "utf8")) as ProcessIdentity;
  } catch {
    return undefined;
  }
}

for (let turn = 0; turn < Number(turns); turn++) {
  using taken = await FolderLock.take(lock, { poll: 1 });
  const other = whoIsInside();
  if (other && lifeOf(other) !== "gone") appendFileSync(log, `${process.pid}: ${other.pid} is inside too\n`);
  writeFileSync(inside, JSON.stringify(thisProcess()));
  if (Math.random() < Number(odds)) process.kill(process.pid, "SIGKILL");
  if (!taken.held) appendFileSync(log, `${process.pid}: lost\n`);
  rmSync(inside);
  process.stdout.write(".");
}
