/** The free memory, and the memory of a process, as Linux reports them; elsewhere as Node.js reports them. */

import { readFileSync } from "node:fs";
import { freemem } from "node:os";

const read = (path: string): string | undefined => {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
};

/** The memory in bytes that is available without swapping: the kernel's estimate, or less if a container or a batch job has a limit. */
export function availableMemory(): number {
  const kernel = /^MemAvailable:\s+(\d+) kB/m.exec(read("/proc/meminfo") ?? "")?.[1];
  const machine = kernel === undefined ? freemem() : Number(kernel) * 1024;
  return Math.min(machine, limitRoom() ?? Number.POSITIVE_INFINITY);
}

/** The remaining memory of this process's control group (version 2). Pages of files count as available, because they can be reclaimed. */
function limitRoom(): number | undefined {
  const group = /^0::(.*)$/m.exec(read("/proc/self/cgroup") ?? "")?.[1];
  if (group === undefined) return undefined;
  const file = (name: string): string | undefined => read(`/sys/fs/cgroup${group}/${name}`);
  const most = Number(file("memory.max"));
  const used = Number(file("memory.current"));
  if (!Number.isFinite(most) || most === 0 || !Number.isFinite(used)) return undefined;
  const ofFiles = Number(/^file (\d+)$/m.exec(file("memory.stat") ?? "")?.[1] ?? 0);
  return most - used + ofFiles;
}

/** The resident memory of a process in bytes; 0 if it is unknown. */
export function residentMemory(pid: number): number {
  const kilobytes = /^VmRSS:\s+(\d+) kB/m.exec(read(`/proc/${pid}/status`) ?? "")?.[1];
  return Number(kilobytes ?? 0) * 1024;
}

/** The assumed memory of a run before any was observed, in bytes: the engine, a small network and its pictures. */
export const FIRST_GUESS = 0.7e9;

/** The free memory in bytes that starting another run requires: all current runs may grow to the largest observed size, and so may the new one. */
export function memoryNeeded(running: readonly number[], largest: number): number {
  const growth = running.reduce((sum, resident) => sum + Math.max(0, largest - resident), 0);
  return 1.1 * (growth + largest);
}
