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

/** Bytes that could be had without swapping: what the kernel thinks, or less where a container or a batch job has a limit. */
export function availableMemory(): number {
  const kernel = /^MemAvailable:\s+(\d+) kB/m.exec(read("/proc/meminfo") ?? "")?.[1];
  const machine = kernel === undefined ? freemem() : Number(kernel) * 1024;
  return Math.min(machine, limitRoom() ?? Number.POSITIVE_INFINITY);
}

/** What is left below the limit of this process's control group (version 2); pages of files can be given back, so they do not count. */
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

/** Bytes a process has in memory; 0 where it cannot be asked. */
export function residentMemory(pid: number): number {
  const kilobytes = /^VmRSS:\s+(\d+) kB/m.exec(read(`/proc/${pid}/status`) ?? "")?.[1];
  return Number(kilobytes ?? 0) * 1024;
}

/** What a run is taken to need before any has been seen: an engine, a small network and its pictures. */
export const FIRST_GUESS = 0.7e9;

/** Bytes that must be free to start one more beside some that run now: their growth to the largest seen, and that once more. */
export function memoryNeeded(running: readonly number[], largest: number): number {
  const growth = running.reduce((sum, resident) => sum + Math.max(0, largest - resident), 0);
  return 1.1 * (growth + largest);
}
