/** Starts the process that runs command lines (hostile-worker.ts), and another one when a command hangs or crashes it. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface, type Interface } from "node:readline";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";

const here = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

/** How a command ended: by itself, by an error that it did not catch, by a crash, or not within its time. */
export interface CommandEnd {
  readonly code?: number;
  readonly thrown?: string;
  readonly crashed?: string;
  readonly hung?: true;
  readonly text: string;
}

export class HostileRunner implements Disposable {
  private child: ChildProcess | undefined;
  private answers: Interface | undefined;

  constructor(private readonly env: Record<string, string> = {}) {}

  /** Runs a command line for at most some milliseconds. */
  async run(args: readonly string[], mostMs: number): Promise<CommandEnd> {
    const child = this.start();
    const over = new AbortController();
    const { signal } = over;
    const answer = once(this.answers!, "line", { signal }).then(([line]) => JSON.parse(line as string) as CommandEnd);
    const died = once(child, "exit", { signal }).then(
      ([code, by]): CommandEnd => ({ crashed: `${by ?? code}`, text: "" }),
    );
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<CommandEnd>((done) => {
      timer = setTimeout(() => done({ hung: true, text: "" }), mostMs);
    });
    child.stdin!.write(`${JSON.stringify(args)}\n`);
    const end = await Promise.race([answer, died, late]);
    clearTimeout(timer);
    for (const each of [answer, died]) each.catch(() => {}); // what is not awaited any more
    over.abort();
    if (end.hung || end.crashed) this[Symbol.dispose]();
    return end;
  }

  private start(): ChildProcess {
    if (this.child) return this.child;
    const words = [here("run-typescript.mjs"), here("hostile-worker.ts")];
    this.child = spawn(process.execPath, words, {
      env: { ...process.env, ...this.env },
      stdio: ["pipe", "ignore", "inherit", "pipe"],
    });
    this.child.stdin!.on("error", () => {});
    this.answers = createInterface({ input: this.child.stdio[3] as Readable });
    return this.child;
  }

  [Symbol.dispose](): void {
    this.answers?.close();
    this.child?.kill("SIGKILL");
    this.child = undefined;
  }
}
