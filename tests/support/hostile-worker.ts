/**
 * Runs command lines one after the other in one process, for tests of what a command does to a folder: each line of stdin
 * is a list of arguments, and each line of descriptor 3 is how it ended. A command that hangs is killed with the process.
 */

import { writeSync } from "node:fs";
import { createInterface } from "node:readline";
import { main } from "../../src/cli/main.js";

let printed = "";
for (const stream of [process.stdout, process.stderr])
  stream.write = ((text: string | Uint8Array) => {
    printed += String(text);
    return true;
  }) as typeof stream.write;

for await (const line of createInterface({ input: process.stdin })) {
  printed = "";
  let end: { code: number } | { thrown: string };
  try {
    end = { code: await main(JSON.parse(line) as string[]) };
  } catch (error) {
    end = { thrown: String((error as Error).stack) };
  }
  process.exitCode = undefined;
  writeSync(3, `${JSON.stringify({ ...end, text: printed.slice(-8000) })}\n`);
}
process.exit();
