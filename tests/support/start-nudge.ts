/**
 * Starts the command line in a process of its own, so that a test can kill it: from dist/ if it matches the sources, as after
 * `npm run setup`, and otherwise from the sources, which takes about half a second longer.
 */

import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { typescriptIsCurrent } from "../../scripts/setup/typescript.mjs";

const root = fileURLToPath(new URL("../../", import.meta.url));
const runner = fileURLToPath(new URL("run-typescript.mjs", import.meta.url));
const program = fileURLToPath(new URL("nudge.ts", import.meta.url));

/** Whether dist/ is what the sources compile to. */
export const distIsCurrent: boolean = typescriptIsCurrent({ root, build: join(root, "build") });

/** The words that start the command line; in $NUDGE_COMMAND they are what it starts itself with. */
export const nudgeWords: readonly string[] = distIsCurrent
  ? [process.execPath, join(root, "bin/nudge.cjs")]
  : [process.execPath, runner, program];

export interface Started {
  readonly process: ChildProcess;
  kill(signal: NodeJS.Signals): void;
  /** Resolves once stderr has had this text; false where the process ended without. */
  said(text: string): Promise<boolean>;
  readonly ended: Promise<{ code: number | null; signal: NodeJS.Signals | null; stdout: string; stderr: string }>;
}

export function startNudge(args: readonly string[]): Started {
  const [node, ...words] = nudgeWords;
  const child = spawn(node, [...words, ...args], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, NUDGE_COMMAND: JSON.stringify(nudgeWords) },
  });
  let [stdout, stderr] = ["", ""];
  let over = false;
  const waiting = new Set<() => void>();
  const wake = (): void => {
    for (const look of waiting) look();
  };
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
    wake();
  });
  const ended = new Promise<Awaited<Started["ended"]>>((done, fail) => {
    child.on("error", fail);
    child.on("close", (code, signal) => {
      over = true;
      wake();
      done({ code, signal, stdout, stderr });
    });
  });
  const said = (text: string): Promise<boolean> =>
    new Promise((done) => {
      const look = (): void => {
        if (!over && !stderr.includes(text)) return;
        waiting.delete(look);
        done(stderr.includes(text));
      };
      waiting.add(look);
      look();
    });
  return { process: child, kill: (signal) => void child.kill(signal), said, ended };
}
