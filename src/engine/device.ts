/** Devices, threads, flags and memory of the engine. */

import { EngineError, UsageError } from "../errors.js";
import { loadNative } from "./load.js";
import type { MemoryUse, Native } from "./native.js";

/** Returns the available devices: `cpu` first, then each GPU. */
export function devices(): string[] {
  return [
    "cpu",
    ...loadNative()
      .cudaDevices()
      .map((_, i) => `cuda:${i}`),
  ];
}

/** Returns the default device: the first GPU, or the CPU if there is none. */
export function defaultDevice(): string {
  return devices()[1] ?? "cpu";
}

/** Throws an error if this machine does not have the device. */
export function checkDevice(device: string): void {
  const known = [...devices(), ...(devices().length > 1 ? ["cuda"] : [])];
  if (!known.includes(device))
    throw new UsageError(`device ${device}: there is none; this machine has ${known.join(", ")} (see nudge doctor)`);
}

/** Returns the device name that tensors report: `cuda` is the first GPU, `cuda:0`. */
export function deviceNamed(device: string): string {
  return device === "cuda" ? "cuda:0" : device;
}

/** Returns true if the device is a GPU with native bfloat16, which is several times as fast as float32. */
export function hasFastBfloat16(device: string): boolean {
  const [kind, index = "0"] = device.split(":");
  const gpu = kind === "cuda" ? loadNative().cudaDevices()[Number(index)] : undefined;
  return gpu !== undefined && Number.parseFloat(gpu.capability) >= 8; // since NVIDIA's Ampere architecture
}

/** Waits until the device has finished all its work. On the CPU it returns immediately. */
export function synchronize(device: string): void {
  if (device === "cpu") return;
  if (devices().length === 1)
    throw new EngineError(`synchronize: there is no "${device}", only the CPU (see nudge doctor)`);
  loadNative().synchronize(device);
}

/**
 * Waits until a GPU has finished what was queued before the last call. A host that queues work faster than it is done must
 * call it now and then: otherwise it waits in the driver, which keeps a core busy.
 */
export function keepPace(device: string): void {
  if (device !== "cpu") loadNative().keepPace(device);
}

/** Lets threads that wait for a GPU sleep. By default they keep a core busy, which processes that share the GPU need. */
export function sleepInWaits(device: string): void {
  if (device !== "cpu") loadNative().sleepInWaits(device);
}

/** Returns the bytes of tensors in use on a device, and their peak since `resetPeakMemory`. */
export function memory(device = "cpu"): MemoryUse {
  return device === "cpu" ? loadNative().memory() : askGpu(device, "cudaMemory");
}

export function resetPeakMemory(device = "cpu"): void {
  if (device === "cpu") loadNative().resetPeak();
  else askGpu(device, "resetCudaPeak");
}

/** Calls a function of a GPU's allocator. If it fails, the GPU cannot be used, which is a problem of the machine. */
function askGpu<K extends "cudaMemory" | "resetCudaPeak">(device: string, what: K): ReturnType<Native[K]> {
  const native = loadNative();
  try {
    return native[what](device) as ReturnType<Native[K]>;
  } catch (error) {
    if (!(error instanceof EngineError)) throw error;
    throw new EngineError(`${device}: ${error.message} (see nudge doctor)`, "load", [], { cause: error });
  }
}

/** Returns memory that the allocator of a GPU keeps for later tensors to the driver. Pools of captured graphs are kept. */
export function emptyCache(device: string): void {
  if (device === "cpu") return;
  synchronize(device);
  loadNative().emptyCache();
}

/** Returns the number of tensors that have not been freed, on all devices. */
export function liveTensors(): number {
  return loadNative().liveTensors();
}

/** Returns the number of CPU threads that an operator may use. */
export function threads(): number {
  return loadNative().threads();
}

export function setThreads(count: number): void {
  loadNative().setThreads(count);
}

/**
 * Sets the number of threads of OpenBLAS and returns the previous number, or 0 for other BLAS libraries. For small
 * eigenvalue problems one thread is faster than two.
 */
export function setBlasThreads(count: number): number {
  return loadNative().setBlasThreads(count);
}

/** Flags of libtorch that affect speed or results. */
export type Flag = "tf32" | "cudnn-benchmark" | "cudnn-deterministic" | "deterministic" | "flush-denormals";

export function setFlag(flag: Flag, on: boolean): void {
  loadNative().setFlag(flag, on);
}

const fused = new Map<string, string>();

/**
 * Returns why a device has no fused kernels (native/src/fused.cc), or an empty string if it has them. Only GPUs have
 * them.
 */
export function fusedKernelsProblem(device: string): string {
  if (device === "cpu") return "the CPU has none";
  let problem = fused.get(device);
  if (problem === undefined) {
    problem = loadNative().fusedKernels(device);
    fused.set(device, problem);
  }
  return problem;
}
