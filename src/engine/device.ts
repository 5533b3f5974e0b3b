/** Devices, threads, switches and memory of the engine. */

import { EngineError, UsageError } from "../errors.js";
import { loadNative } from "./load.js";
import type { MemoryUse } from "./native.js";

/** The devices there are: `cpu` first, then each GPU. */
export function devices(): string[] {
  return [
    "cpu",
    ...loadNative()
      .cudaDevices()
      .map((_, i) => `cuda:${i}`),
  ];
}

/** The device to use when none is named: the first GPU, or the CPU. */
export function defaultDevice(): string {
  return devices()[1] ?? "cpu";
}

/** Refuses a device that this machine does not have. */
export function checkDevice(device: string): void {
  const known = [...devices(), ...(devices().length > 1 ? ["cuda"] : [])];
  if (!known.includes(device))
    throw new UsageError(`device ${device}: there is none; this machine has ${known.join(", ")} (see nudge doctor)`);
}

/** A device by the name its tensors give: `cuda` is the first GPU, `cuda:0`. */
export function deviceNamed(device: string): string {
  return device === "cuda" ? "cuda:0" : device;
}

/** Whether a device is a GPU that computes in bfloat16 natively, and so several times as fast as in float32. */
export function hasFastBfloat16(device: string): boolean {
  const [kind, index = "0"] = device.split(":");
  const gpu = kind === "cuda" ? loadNative().cudaDevices()[Number(index)] : undefined;
  return gpu !== undefined && Number.parseFloat(gpu.capability) >= 8; // since NVIDIA's Ampere
}

/** Waits until the device has done all it was given; on the CPU nothing is outstanding. */
export function synchronize(device: string): void {
  if (device === "cpu") return;
  if (devices().length === 1)
    throw new EngineError(`synchronize: there is no "${device}", only the CPU (see nudge doctor)`);
  loadNative().synchronize(device);
}

/** Bytes of tensors in use on a device, and their peak since `resetPeakMemory`. */
export function memory(device = "cpu"): MemoryUse {
  return device === "cpu" ? loadNative().memory() : loadNative().cudaMemory(device);
}

export function resetPeakMemory(device = "cpu"): void {
  if (device === "cpu") loadNative().resetPeak();
  else loadNative().resetCudaPeak(device);
}

/** Tensors not yet freed, anywhere. */
export function liveTensors(): number {
  return loadNative().liveTensors();
}

/** CPU threads an operator may use. */
export function threads(): number {
  return loadNative().threads();
}

export function setThreads(count: number): void {
  loadNative().setThreads(count);
}

/**
 * Sets the threads of OpenBLAS's own pool and returns how many there were; 0 where the BLAS is another. One is faster than
 * two for small eigenproblems.
 */
export function setBlasThreads(count: number): number {
  return loadNative().setBlasThreads(count);
}

/** The switches of libtorch that change speed or numbers. */
export type Flag = "tf32" | "cudnn-benchmark" | "cudnn-deterministic" | "deterministic" | "flush-denormals";

export function setFlag(flag: Flag, on: boolean): void {
  loadNative().setFlag(flag, on);
}

const fused = new Map<string, string>();

/** Why a device has no fused kernels (native/src/fused.cc); an empty text where it has them. Only GPUs have. */
export function fusedKernelsProblem(device: string): string {
  if (device === "cpu") return "the CPU has none";
  let problem = fused.get(device);
  if (problem === undefined) {
    problem = loadNative().fusedKernels(device);
    fused.set(device, problem);
  }
  return problem;
}
