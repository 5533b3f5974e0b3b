/** What the addon exports, in types. Tensors, generators and graphs are numbers here; `tensor.ts` gives them a face. */

import type { EngineError } from "../errors.js";

/** A tensor's slot in the addon. */
export type Handle = number;

/** One argument of an operator, as its schema says. */
export interface SchemaArgument {
  readonly name: string;
  readonly type: string;
  /** `int[2]` has 2: one number stands for both. */
  readonly length: number;
  readonly keywordOnly: boolean;
  readonly hasDefault: boolean;
}

/** An operator's schema. */
export interface Schema {
  readonly name: string;
  readonly text: string;
  readonly arguments: readonly SchemaArgument[];
  /** `argument` is the index of the argument a return is, when the operator writes in place; else -1. */
  readonly returns: readonly { readonly type: string; readonly argument: number }[];
}

/** Bytes of tensors in use, their peak, and what may be used (host) or is held back for reuse (GPU). */
export interface MemoryUse {
  readonly used: number;
  readonly peak: number;
  readonly limit?: number;
  readonly reserved?: number;
}

export interface Native {
  call(operator: number, ...args: unknown[]): unknown;
  resolve(name: string, overload: string): number;
  overloads(name: string): string[];
  schema(operator: number): Schema;

  fromBytes(data: ArrayBufferView | ArrayBuffer, dtype: string, shape: readonly number[]): Handle;
  read(tensor: Handle, target: ArrayBufferView): void;
  readFile(fd: number, offset: number, dtype: string, shape: readonly number[]): Handle;
  item(tensor: Handle): number | bigint | boolean;
  shape(tensor: Handle): number[];
  strides(tensor: Handle): number[];
  dtype(tensor: Handle): string;
  device(tensor: Handle): string;
  describe(tensor: Handle): string;
  isChannelsLast(tensor: Handle): boolean;
  address(tensor: Handle): number | bigint;
  isLive(tensor: Handle): boolean;
  free(tensor: Handle): void;
  liveTensors(): number;

  backward(outputs: Handle[], gradients: Handle[] | undefined, retainGraph: boolean, createGraph: boolean): void;
  grad(
    outputs: Handle[],
    inputs: Handle[],
    gradients: Handle[] | undefined,
    retainGraph: boolean,
    createGraph: boolean,
    allowUnused: boolean,
  ): (Handle | null)[];
  setGradEnabled(enabled: boolean): boolean;
  requiresGrad(tensor: Handle): boolean;
  setRequiresGrad(tensor: Handle, yes: boolean): void;
  isLeaf(tensor: Handle): boolean;
  retainGrad(tensor: Handle): void;
  getGrad(tensor: Handle): Handle | null;
  setGrad(tensor: Handle, gradient: Handle | null): void;
  share(target: Handle, source: Handle): void;

  info(): {
    version: string;
    config: string;
    parallel: string;
    cuda: boolean;
    builtForCuda: boolean;
    threads: number;
    library: string;
  };
  setThreads(count: number): void;
  threads(): number;
  setBlasThreads(count: number): number;
  newGenerator(device: string, seed: number | bigint): number;
  freeGenerator(generator: number): void;
  manualSeed(seed: number): void;
  setFlag(name: string, on: boolean): void;
  setCudnnTrials(count: number): void;
  setErrorClass(errorClass: typeof EngineError): void;

  /** Crop, resize, flip, jitter and normalise: `source` is a uint8 tensor, or null when `files` has a descriptor a sample. */
  augment(
    source: Handle | null,
    offsets: Float64Array,
    sizes: Int32Array,
    draws: Float32Array,
    size: number,
    mean: Float32Array,
    std: Float32Array,
    channelsLast: boolean,
    files: Int32Array | undefined,
    bicubic: boolean,
  ): Handle;
  /**
   * Reads a JPEG file, or takes its bytes, and decodes it on another thread. Null where it is not an ordinary one, cannot be read,
   * is longer on its short side than `shortSide` (0 for any length), has more pixels than `mostPixels`, or asks to be turned and
   * is to be `upright`.
   */
  decodeJpeg(
    picture: string | Uint8Array,
    shortSide: number,
    upright: boolean,
    mostPixels: number,
  ): Promise<{ width: number; height: number; pixels: Uint8Array } | null>;
  /** Pieces of files one after the other, as one uint8 tensor. */
  gather(files: Int32Array, offsets: Float64Array, lengths: Float64Array, pinned: boolean): Handle;
  /** Pieces of files that will be read soon. */
  willNeed(files: Int32Array, offsets: Float64Array, lengths: Float64Array): void;

  memory(): MemoryUse;
  resetPeak(): void;
  setMemoryLimit(bytes: number): void;

  cudaDevices(): { name: string; memory: number; capability: string }[];
  synchronize(device: string): void;
  cudaMemory(device: string): MemoryUse;
  resetCudaPeak(device: string): void;
  /** Why a GPU has no kernels of our own, or "". */
  fusedKernels(device: string): string;
  emptyCache(): void;
  captureBegin(device: string): number;
  captureEnd(keep: boolean): void;
  replay(graph: number): void;
  freeGraph(graph: number): void;
}
