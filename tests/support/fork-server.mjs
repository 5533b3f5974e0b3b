// Loads the program once, then forks for each command that it reads from file descriptor 3, a line of JSON each:
// `node --single-threaded fork-server.mjs FORK.NODE`. On stderr it puts `\0{"pid":…}` before the output of a command and
// `\0{"end":…}` after it (the exit code, or minus the signal). A command with "until" is not forked: it runs here until its output
// has that text, and is then interrupted, so that later children find libtorch loaded and functions compiled. What a command leaves
// running in threads is missing in the children: here, the counter of a lock (src/files/heartbeat.ts).
// fork-server.ts is the other end.
import { randomUUID } from "node:crypto";
import { closeSync, readlinkSync, readSync, writeSync } from "node:fs";
import { createRequire } from "node:module";

const COMMANDS = 3; // not stdin, which the program may set to return at once when there is nothing to read
const KEPT_IDS = 128; // Node keeps so many random ids for later, and all children would start with the same ones
const { fork, wait, exit } = createRequire(import.meta.url)(process.argv[2]);
const { main } = await import(new URL("../../dist/cli/main.js", import.meta.url).href);

/** @param {object} fact */
const tell = (fact) => writeSync(2, `\0${JSON.stringify(fact)}\n`);

/** Reads the next line; undefined at the end of the input. */
function nextLine() {
  const byte = Buffer.alloc(1);
  const bytes = [];
  while (readSync(COMMANDS, byte) === 1) {
    if (byte[0] === 10) return Buffer.from(bytes).toString("utf8");
    bytes.push(byte[0]);
  }
}

/** @param {string[]} args @param {string} until */
function warmUp(args, until) {
  const { write } = process.stderr;
  process.stderr.write = (/** @type {any} */ ...given) => {
    if (String(given[0]).includes(until)) process.emit("SIGINT", "SIGINT");
    return write.apply(process.stderr, /** @type {any} */ (given));
  };
  return main(args).finally(() => {
    process.stderr.write = write;
  });
}

for (let line = nextLine(); line !== undefined; line = nextLine()) {
  const { args, until } = JSON.parse(line);
  if (until !== undefined) {
    tell({ pid: process.pid });
    tell({ end: await warmUp(args, until) });
    process.exitCode = undefined; // the program's own
    continue;
  }
  const pid = fork();
  if (pid === 0) {
    closeSync(COMMANDS);
    Object.defineProperty(process, "pid", { value: Number(readlinkSync("/proc/self")) });
    for (let i = 0; i < KEPT_IDS; i++) randomUUID();
    tell({ pid: process.pid });
    exit(await main(args));
  }
  tell({ end: wait(pid) });
}
