/**
 * A process of `nudge sweep work`, as seen by its controller: events on its stdout, memory, and how it ended. Its stdin
 * is a pipe that is never written to: when the controller dies, the pipe closes, and the process stops after a
 * checkpoint.
 */

import { type ChildProcess, spawn } from "node:child_process";
import { residentMemory } from "./memory.js";
import type { WorkEnd, WorkEvent } from "./work.js";

/** A place that executes one run at a time. */
export interface Slot {
  /** For people: `GPU 1`. */
  readonly label: string;
  /** Like `nudge train --device`; by default the default device. */
  readonly device?: string;
  /** The number of CPU threads of runs that are started here. */
  readonly threads: number;
  /** Additional environment variables. */
  readonly env: Readonly<Record<string, string>>;
}

/** How a process ended. */
export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** The reason that it reported; absent if it was killed or crashed. */
  readonly why: WorkEnd | undefined;
  /** The run on which it was working. */
  readonly at: string | undefined;
  /** Whether it had started any run. */
  readonly begun: boolean;
  /** The end of its error output. */
  readonly stderr: string;
}

const KEPT_TEXT = 4_000;

export class WorkerProcess {
  readonly ended: Promise<Ended>;
  /** Its largest observed memory, in bytes. */
  peak = 0;
  private readonly child: ChildProcess;
  private at: string | undefined;
  private begun = false;
  private why: WorkEnd | undefined;

  constructor(
    readonly slot: Slot,
    [program, ...args]: readonly string[],
    private readonly onEvent: (event: WorkEvent, worker: WorkerProcess) => void,
  ) {
    const env = { ...process.env, ...slot.env };
    this.child = spawn(program, args, { env, stdio: ["pipe", "pipe", "pipe"] });
    this.child.stdin?.on("error", () => {}); // it ended first
    let stderr = "";
    this.child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      stderr = (stderr + text).slice(-KEPT_TEXT);
    });
    let rest = "";
    this.child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      const lines = (rest + text).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) this.take(line);
    });
    this.ended = new Promise((done, fail) => {
      this.child.on("error", fail);
      this.child.on("close", (code, signal) => {
        done({ code, signal, why: this.why, at: this.at, begun: this.begun, stderr });
      });
    });
  }

  /** Whether it has not claimed a run yet, or is between two. */
  get idle(): boolean {
    return this.at === undefined;
  }

  /** Its current resident memory in bytes. */
  resident(): number {
    const now = this.child.pid === undefined ? 0 : residentMemory(this.child.pid);
    this.peak = Math.max(this.peak, now);
    return now;
  }

  /** Asks it to finish the step and write a checkpoint. */
  stop(): void {
    this.child.kill("SIGTERM");
  }

  kill(): void {
    this.child.kill("SIGKILL");
  }

  private take(line: string): void {
    let event: WorkEvent;
    try {
      event = JSON.parse(line) as WorkEvent;
    } catch {
      return; // output of a library, not an event
    }
    if (event.event === "end") this.why = event.why;
    else if (event.event === "begun") {
      this.at = event.id;
      this.begun = true;
    } else this.at = undefined;
    this.onEvent(event, this);
  }
}
