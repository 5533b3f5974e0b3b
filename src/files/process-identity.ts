/**
 * Identifies a process, so that another process on the same machine can determine whether it has ended. A process id
 * alone is reused, and two machines may have the same host name, as containers and fresh images do. So a process is
 * identified by its id and start time in one PID namespace and one boot of one kernel.
 */

import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";

export interface ProcessIdentity {
  readonly pid: number;
  /** A readable description. */
  readonly host: string;
  /** Processes with the same place can check each other. */
  readonly place: string;
  /** The start time in ticks of the kernel; null if the system does not report it. */
  readonly started: string | null;
}

const attempt = <T>(action: () => T): T | null => {
  try {
    return action();
  } catch {
    return null; // no /proc
  }
};

/**
 * The state and start time of a process; null if it does not exist or there is no /proc. The name before them may
 * contain spaces and brackets.
 */
const statusOf = (pid: number): { state: string; started: string } | null =>
  attempt(() => {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
    return { state: fields[0], started: fields[19] };
  });

let own: ProcessIdentity | undefined;

/** This process. A forked one has another id than the one that it was copied from. */
export function thisProcess(): ProcessIdentity {
  if (own?.pid === process.pid) return own;
  own = {
    pid: process.pid,
    host: hostname(),
    place: [
      attempt(() => readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim()) ?? hostname(),
      attempt(() => readlinkSync("/proc/self/ns/pid")) ?? "",
    ].join(" "),
    started: statusOf(process.pid)?.started ?? null,
  };
  return own;
}

/** Whether a process is certainly running, certainly gone, or cannot be checked from here. */
export function lifeOf({ pid, place, started }: ProcessIdentity): "alive" | "gone" | "unknown" {
  if (place !== thisProcess().place) return "unknown";
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EPERM") return "gone";
  }
  const status = statusOf(pid);
  if (status === null) return "alive"; // no /proc: use the result of the signal
  // A killed process whose parent has not waited for it still accepts signals; its state is Z.
  return status.state === "Z" || (started !== null && status.started !== started) ? "gone" : "alive";
}
