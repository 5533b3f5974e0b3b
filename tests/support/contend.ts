/** Several processes that contend for one lock (lock-contender.ts), each of them until it has had its turns. */

import { spawn } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "vite";

export interface Contention {
  /** A folder of this machine's, for the program and what it reports. */
  readonly folder: string;
  /** Each process by its path of the lock, and the words to start it with. */
  readonly processes: readonly { readonly lock: string; readonly words?: readonly string[] }[];
  readonly turns: number;
  /** How probable it is that a process kills itself in a turn. */
  readonly odds: number;
  readonly stillFor: number;
}

/** How often a process was killed, the exit codes other than 0, and what went wrong by the processes' own log. */
export async function contend({ folder, processes, turns, odds, stillFor }: Contention): Promise<{
  deaths: number;
  codes: (number | null)[];
  log: string;
}> {
  // One plain file: a process that dies soon should not take a second to start.
  const outDir = join(folder, "program");
  const ssr = fileURLToPath(new URL("lock-contender.ts", import.meta.url));
  await build({ configFile: false, logLevel: "error", build: { ssr, outDir, target: "node20" } });
  const program = join(outDir, readdirSync(outDir)[0]);
  const log = join(folder, "log");
  let deaths = 0;
  /** Runs one process for some turns, of which it may do fewer. */
  const runOne = (
    { lock, words = [] }: Contention["processes"][number],
    left: number,
  ): Promise<{ made: number; code: number | null }> =>
    new Promise((done, fail) => {
      const all = [...words, process.execPath, program, lock, log, ...[left, odds, stillFor].map(String)];
      const child = spawn(all[0], all.slice(1), { stdio: ["ignore", "pipe", "pipe"] });
      let made = 0;
      child.stderr.setEncoding("utf8").on("data", (text: string) => {
        if (text.trim() !== "Killed") process.stderr.write(text); // a shell's word on what was meant to happen
      });
      child.stdout.on("data", (dots: Buffer) => {
        made += dots.length;
      });
      child.on("error", fail);
      // A program that starts another one reports its death as 128 and the number of the signal.
      child.on("close", (code) => done({ made, code: code === 128 + 9 ? null : code }));
    });
  const codes = await Promise.all(
    processes.map(async (each) => {
      for (let left = turns; ; deaths++) {
        const { made, code } = await runOne(each, left);
        left -= made;
        if (code !== null || left === 0) return code;
      }
    }),
  );
  return {
    deaths,
    codes: codes.filter((code) => code !== 0 && code !== null),
    log: existsSync(log) ? readFileSync(log, "utf8") : "",
  };
}
