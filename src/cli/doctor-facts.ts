/**
 * Collects what `nudge doctor` reports about this machine and the engine. It also works when the engine does not load,
 * and then reports why.
 */

import { existsSync, readFileSync, realpathSync } from "node:fs";
import { availableParallelism, totalmem } from "node:os";
import { join } from "node:path";
import { buildFolder } from "../engine/build-folder.js";
import { addonPath, loadNative } from "../engine/load.js";
import type { Native } from "../engine/native.js";

/** What at::show_config reports about how libtorch was built. */
export interface BuildSettings {
  /** The version of oneDNN, which runs the convolutions; null if libtorch was built without it. */
  readonly oneDnn: string | null;
  readonly openMp: boolean;
  /** Whether MKL is built in. If it is, no other BLAS is used. */
  readonly mkl: boolean;
  /** The vector instructions in use, such as `AVX2`. */
  readonly cpuCapability: string | null;
  /** The CUDA version that libtorch was built with; null for a CPU build. */
  readonly cuda: string | null;
}

/** Reads the text of at::show_config. */
export function readConfig(config: string): BuildSettings {
  const first = (pattern: RegExp) => pattern.exec(config)?.[1] ?? null;
  return {
    oneDnn: first(/MKL-DNN v([\d.]+)/) ?? first(/oneDNN v([\d.]+)/),
    openMp: /^\s*- OpenMP \d+/m.test(config),
    mkl: /Math Kernel Library/.test(config),
    cpuCapability: first(/CPU capability usage: (\S+)/),
    cuda: first(/CUDA Runtime ([\d.]+)/),
  };
}

/** A linear-algebra library and its path. `reference` is the slow one. */
export interface Blas {
  readonly name: string;
  readonly path: string | null;
}

/**
 * The BLAS in use: MKL if it is built in, otherwise the library mapped into the process (read from the text of
 * /proc/self/maps).
 */
export function blasInUse(settings: BuildSettings, maps: string): Blas {
  if (settings.mkl) return { name: "MKL", path: null };
  const paths = new Set(maps.match(/\/\S*(?:blas|mkl_rt|blis|atlas)\S*\.so\S*$/gim));
  const names = [...paths].map((path): Blas => ({ name: blasName(path), path }));
  // OpenBLAS's libblas.so.3 loads libopenblas, which does the work. The reference BLAS has no such companion.
  return names.find(({ name }) => name !== "reference") ?? names[0] ?? { name: "unknown", path: null };
}

function blasName(path: string): string {
  const known = { OpenBLAS: /openblas/i, MKL: /mkl/i, BLIS: /blis/i, ATLAS: /atlas/i };
  return Object.entries(known).find(([, pattern]) => pattern.test(path))?.[0] ?? "reference";
}

/** The parts of build/engine.json, written by set-up, that are reported here. */
export interface SetupRecord {
  readonly libtorch: { readonly origin: string; readonly lib: string; readonly version: string; readonly std: number };
  readonly cuda: { readonly version: string } | null;
  readonly cudaProblem: string | null;
  readonly compiler: { readonly command: readonly string[]; readonly version: string };
}

/** The engine, once loaded. */
export interface Engine {
  readonly version: string;
  readonly library: string;
  readonly settings: BuildSettings;
  readonly blas: Blas;
  /** Whether the addon was built with CUDA's headers, which CUDA graphs, streams and memory statistics need. */
  readonly builtForCuda: boolean;
  readonly threads: number;
  readonly gpus: readonly {
    readonly name: string;
    readonly memory: number;
    readonly capability: string;
    /** Why our own CUDA kernels are not available; empty if they are. */
    readonly kernelsProblem?: string;
  }[];
}

export interface Facts {
  readonly nudge: string;
  readonly node: string;
  readonly platform: string;
  readonly addon: {
    readonly path: string;
    readonly exists: boolean;
    readonly error: string | null;
    readonly seconds: number;
  };
  readonly engine: Engine | null;
  readonly setup: SetupRecord | null;
  readonly cores: number;
  /** Memory of the machine or the container in bytes: total and available. */
  readonly memory: { readonly total: number; readonly available: number };
  /** Whether the machine has an NVIDIA driver loaded. */
  readonly nvidia: boolean;
}

function engineOf(native: Native): Engine {
  const { version, config, library, builtForCuda } = native.info();
  const settings = readConfig(config);
  const maps = existsSync("/proc/self/maps") ? readFileSync("/proc/self/maps", "utf8") : "";
  return {
    version,
    library: existsSync(library) ? realpathSync(library) : library,
    settings,
    blas: blasInUse(settings, maps),
    builtForCuda,
    threads: native.threads(),
    gpus: native.cudaDevices().map((gpu, i) => ({ ...gpu, kernelsProblem: native.fusedKernels(`cuda:${i}`) })),
  };
}

function setupRecord(): SetupRecord | null {
  try {
    return JSON.parse(readFileSync(join(buildFolder(), "engine.json"), "utf8"));
  } catch {
    return null; // set-up has not run
  }
}

/** Loads the engine, or returns the reason why it does not load. This never builds an engine. */
function tryEngine(path: string): { engine: Engine | null; error: string | null } {
  if (!existsSync(path)) return { engine: null, error: `${path} is missing` };
  try {
    return { engine: engineOf(loadNative()), error: null };
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    return { engine: null, error: error.cause instanceof Error ? error.cause.message : error.message };
  }
}

/** Collects all facts. Loads the engine if possible. */
export function gatherFacts(nudge: string): Facts {
  const path = addonPath();
  const start = performance.now();
  const { engine, error } = tryEngine(path);
  const limit = process.constrainedMemory();
  return {
    nudge,
    node: process.version,
    platform: `${process.platform} ${process.arch}`,
    addon: { path, exists: existsSync(path), error, seconds: (performance.now() - start) / 1000 },
    engine,
    setup: setupRecord(),
    cores: availableParallelism(),
    memory: { total: limit > 0 ? Math.min(limit, totalmem()) : totalmem(), available: process.availableMemory() },
    nvidia: existsSync("/proc/driver/nvidia/version"),
  };
}
