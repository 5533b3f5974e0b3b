/**
 * The types of the addon's exports. Tensors, generators and graphs are numbers here; `tensor.ts` wraps them in classes.
 */

import type { EngineError } from "../errors.js";

/** The index of a tensor in the addon. */
export type Handle = number;

/** One argument of an operator, according to its schema. */
export interface SchemaArgument {
  readonly name: string;
  readonly type: string;
  /** The fixed length of a list: `int[2]` has 2, and a single number can be passed for both. */
  readonly length: number;
  readonly keywordOnly: boolean;
  readonly hasDefault: boolean;
}

/** An operator's schema. */
export interface Schema {
  readonly name: string;
  readonly text: string;
  readonly arguments: readonly SchemaArgument[];
  /** The index of the argument that is returned, if the operator writes in place; otherwise -1. */
  readonly returns: readonly { readonly type: string; readonly argument: number }[];
}

/** Bytes of tensors in use, their peak, and the limit (host) or the memory reserved for reuse (GPU). */
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

  /**
   * Crops, resizes, flips, jitters and normalizes pictures. `source` is a uint8 tensor, or the bytes of each sample, or
   * null if `files` has a file descriptor for each.
   */
  augment(
    source: Handle | readonly Uint8Array[] | null,
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
   * Reads a JPEG or PNG file, or uses its bytes, and decodes it in another thread. The result is null if the picture is
   * not an ordinary one, cannot be read, has more pixels than `mostPixels`, is a JPEG whose shorter side is longer than
   * `longest` (0 for any length), or may have to be rotated and `upright` is true. A picture whose shorter side is longer than
   * `shortSide` is scaled down to that, with the bytes of sharp, unless it has to become four times as small or smaller. The kernels
   * are the best that the processor has; with `plain`, tests choose others.
   */
  decodePicture(
    picture: string | Uint8Array,
    longest: number,
    upright: boolean,
    mostPixels: number,
    shortSide?: number | null,
    filter?: "lanczos3" | "linear" | "cubic",
    plain?: boolean,
  ): Promise<{ width: number; height: number; pixels: Uint8Array } | null>;
  /**
   * Decodes picture files like `decodePicture`, on several threads, into one buffer, if requested in pinned memory (except the
   * first batch, one that is much larger than all before it, and more than 256 MB). `sizes` has the width and height of each, which
   * are 0 if it needs another decoder or has to become four times as small or smaller. The result is null if there is not enough
   * memory.
   */
  decodePictures(
    paths: readonly string[],
    threads: number,
    pinned: boolean,
    longest: number,
    upright: boolean,
    mostPixels: number,
    shortSide?: number | null,
    filter?: "lanczos3" | "linear" | "cubic",
  ): Promise<{ pixels: Handle; sizes: Int32Array } | null>;
  /**
   * Prepares a network for prediction on the CPU and returns its number. Value 0 is the input, [channels, height, width]; step i
   * computes value i + 1. The twelve numbers of a step are described in src/model/network-plan.ts. The kernels are the best that the
   * processor has; tests can choose others.
   */
  planNetwork(
    shape: readonly number[],
    steps: readonly (readonly number[])[],
    outputs: readonly number[],
    vectors?: "avx512" | "avx2" | "plain",
  ): number;
  /** Computes the outputs, float32 [n, width], of a float32 batch [n, channels, height, width], on other threads. */
  runPlan(plan: number, x: Handle, outputs: readonly Handle[], threads: number): Promise<void>;
  freePlan(plan: number): void;

  /** Reads parts of files and concatenates them into one uint8 tensor. */
  gather(files: Int32Array, offsets: Float64Array, lengths: Float64Array, pinned: boolean): Handle;
  /** The concatenation of arrays, copied with threads, as a uint8 tensor. */
  join(parts: readonly Uint8Array[], pinned: boolean): Handle;
  /** Announces parts of files that will be read soon. */
  willNeed(files: Int32Array, offsets: Float64Array, lengths: Float64Array): void;

  memory(): MemoryUse;
  resetPeak(): void;
  setMemoryLimit(bytes: number): void;

  cudaDevices(): { name: string; memory: number; capability: string }[];
  synchronize(device: string): void;
  cudaMemory(device: string): MemoryUse;
  resetCudaPeak(device: string): void;
  /** Returns why a GPU has no custom kernels, or "". */
  fusedKernels(device: string): string;
  emptyCache(): void;
  captureBegin(device: string): number;
  captureEnd(keep: boolean): void;
  replay(graph: number, times: number): void;
  keepPace(device: string): void;
  sleepInWaits(device: string): void;
  freeGraph(graph: number): void;

  profileStart(): void;
  profileStop(): { name: string; count: number; nanoseconds: number }[];
}
