/**
 * A process by name, so that another of the same machine can determine whether it is gone: a number alone is given again to
 * others, and two machines may call themselves the same, as containers and fresh images do. So a process is its number
 * and its starting time, in one namespace of numbers, in one boot of one kernel.
 */

import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";

export interface ProcessIdentity {
  readonly pid: number;
  /** For people to read. */
  readonly host: string;
  /** Processes of the same place can ask for each other. */
  readonly place: string;
  /** When it started, in the kernel's ticks; null where the system does not say. */
  readonly started: string | null;
}

const attempt = <T>(action: () => T): T | null => {
  try {
    return action();
  } catch {
    return null; // no /proc
  }
};

/** State and starting time of a process; null where there is none, or no /proc to ask. The name before may have spaces and brackets. */
const statusOf = (pid: number): { state: string; started: string } | null =>
  attempt(() => {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
    return { state: fields[0], started: fields[19] };
  });

let own: ProcessIdentity | undefined;

/** This process. */
export function thisProcess(): ProcessIdentity {
  own ??= {
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

/** Whether a process is certainly there, certainly gone, or one that cannot be asked for from here. */
export function lifeOf({ pid, place, started }: ProcessIdentity): "alive" | "gone" | "unknown" {
  if (place !== thisProcess().place) return "unknown";
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EPERM") return "gone";
  }
  const status = statusOf(pid);
  if (status === null) return "alive"; // no /proc: the signal's word
  // A killed process whose parent has not asked for it yet still answers to a signal: state Z.
  return status.state === "Z" || (started !== null && status.started !== started) ? "gone" : "alive";
}
