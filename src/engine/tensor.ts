/**
 * A tensor: an array of numbers in the engine, with the operators of ops.generated.ts as methods and the conveniences
 * below. In-place methods end in `_`. A tensor's memory is freed by its scope (scope.ts), not by the garbage collector.
 */

import { inspect } from "node:util";
import { EngineError } from "../errors.js";
import { arrayFor, bytesOf, checkAttached, dtypeOf, flatten, type Nested, nest, type TypedArray } from "./arrays.js";
import type { DType } from "./dtype.js";
import { loadNative, native } from "./load.js";
import type { Handle } from "./native.js";
import * as ops from "./ops.generated.js";
import { formatTensor } from "./print.js";
import { refuseAsync, scope, track, untrack } from "./scope.js";
import { handle, type MemoryFormat, setTensorFactory } from "./wrap.js";

export class Tensor extends ops.Operators implements Disposable {
  /** @internal The slot in the addon; 0 once freed. */
  handle: Handle;
  /** @internal Kept out of scopes. */
  kept = false;
  /** @internal Made outside any scope: the garbage collector may free it. */
  orphan = false;
  private sizes: readonly number[] | undefined;

  /** @internal Takes over a handle of the addon's. */
  constructor(handle: Handle) {
    super();
    this.handle = handle;
    track(this);
  }

  /** The sizes: `const [n, d] = features.shape`. */
  get shape(): readonly number[] {
    this.sizes ??= native.shape(handle(this));
    return this.sizes;
  }

  /** @internal An operator may have changed the sizes in place. */
  forgetShape(): this {
    this.sizes = undefined;
    return this;
  }

  /** The size along one dimension; negative counts from the last. */
  size(dim: number): number {
    const size = this.shape.at(dim);
    if (size === undefined)
      throw new EngineError(`size(${dim}): ${this.describe()} has ${this.shape.length} dimensions`);
    return size;
  }

  /** The first size: of a batch, its samples. */
  get rows(): number {
    return this.size(0);
  }

  get numel(): number {
    return this.shape.reduce((product, size) => product * size, 1);
  }

  get strides(): readonly number[] {
    return native.strides(handle(this));
  }

  /** Whether the elements lie in memory in the same order as those of a tensor of the same sizes. */
  isLaidOutAs({ strides }: Tensor): boolean {
    return this.strides.every((stride, dim) => stride === strides[dim] || this.shape[dim] === 1);
  }

  get dtype(): DType {
    return native.dtype(handle(this)) as DType;
  }

  /** `cpu` or `cuda:0`. */
  get device(): string {
    return native.device(handle(this));
  }

  get isChannelsLast(): boolean {
    return native.isChannelsLast(handle(this));
  }

  /** Whether it has been freed. */
  get isDisposed(): boolean {
    return this.handle === 0;
  }

  /** Whether two tensors begin at the same element in memory. */
  sharesMemoryWith(other: Tensor): boolean {
    return native.address(handle(this)) === native.address(handle(other));
  }

  // --- Arithmetic and reductions whose operators come in several overloads

  /** The sum of all elements, or over some dimensions. */
  sum(dim?: number | readonly number[], keepdim = false): Tensor {
    return dim === undefined ? this.sumAll() : this.sumOver(list(dim), keepdim);
  }

  /** The mean of all elements, or over some dimensions. */
  mean(dim?: number | readonly number[], keepdim = false): Tensor {
    return dim === undefined ? this.meanAll() : this.meanOver(list(dim), keepdim);
  }

  /** The variance over some dimensions (all by default); `correction` 1 divides by n − 1. */
  variance(dim?: number | readonly number[], { correction = 1, keepdim = false } = {}): Tensor {
    return this.varCorrection(dim === undefined ? null : list(dim), { correction, keepdim });
  }

  /** The largest element, or the largest along a dimension. */
  max(dim?: number, keepdim = false): Tensor {
    return dim === undefined ? this.maxAll() : this.amax([dim], keepdim);
  }

  /** The smallest element, or the smallest along a dimension. */
  min(dim?: number, keepdim = false): Tensor {
    return dim === undefined ? this.minAll() : this.amin([dim], keepdim);
  }

  /** The 2-norm of all elements, or over some dimensions; `order` for another. */
  norm(dim?: number | readonly number[], { order = 2, keepdim = false } = {}): Tensor {
    return this.vectorNorm(order, dim === undefined ? null : list(dim), keepdim);
  }

  /** This where the condition holds, `other` where it does not. */
  where(condition: Tensor, other: Tensor | number): Tensor {
    return ops.where(condition, this, other);
  }

  // --- Shape

  /** The same elements in another shape: `view(2, 3)` or `view([2, 3])`. */
  view(...shape: Sizes): Tensor {
    return this.viewAs(sizes(shape));
  }

  /** As `view`, with a copy where the memory layout needs one. */
  reshape(...shape: Sizes): Tensor {
    return this.reshapeTo(sizes(shape));
  }

  /** The dimensions in another order: `permute(1, 0)` or `permute([1, 0])`. */
  override permute(...dims: Sizes): Tensor {
    return super.permute(sizes(dims));
  }

  /** The rows at these positions. */
  take(rows: Tensor | readonly number[]): Tensor {
    const index = rows instanceof Tensor ? rows : tensor(rows, { dtype: "int64", device: this.device });
    return this.indexSelect(0, index);
  }

  // --- Type, device, layout

  /** In another dtype, on another device, or in another memory format; itself where it is there already. */
  to({ dtype, device, memoryFormat }: { dtype?: DType; device?: string; memoryFormat?: MemoryFormat }): Tensor {
    if (device !== undefined) return this.toDevice(device, dtype ?? this.dtype, false, false, memoryFormat);
    if (dtype !== undefined) return this.toDType(dtype, false, false, memoryFormat);
    return memoryFormat === undefined ? this : this.contiguous({ memory_format: memoryFormat });
  }

  // --- Gradients

  get requiresGrad(): boolean {
    return native.requiresGrad(handle(this));
  }

  /** Asks for gradients with respect to this tensor (or stops it). */
  requiresGrad_(yes = true): this {
    native.setRequiresGrad(handle(this), yes);
    return this;
  }

  get isLeaf(): boolean {
    return native.isLeaf(handle(this));
  }

  /** Keeps the gradient of a tensor that is not a leaf. */
  retainGrad(): this {
    native.retainGrad(handle(this));
    return this;
  }

  /** What backward passes added up here, or null. */
  get grad(): Tensor | null {
    const gradient = native.getGrad(handle(this));
    return gradient === null ? null : new Tensor(gradient);
  }

  /**
   * A gradient whose elements lie in another order than this tensor's is copied into its order, as a backward pass would: the
   * fused optimizers of a GPU take nothing else.
   */
  set grad(gradient: Tensor | null) {
    native.setGrad(handle(this), gradient === null ? null : handle(gradient)); // refuses another shape, dtype or device
    if (gradient === null || gradient.isLaidOutAs(this)) return;
    using laidOut = this.emptyLike().copy_(gradient);
    native.setGrad(handle(this), handle(laidOut));
  }

  /** Adds the gradients of this scalar to `.grad` of the leaves it came from. */
  backward({ gradient, retainGraph, createGraph = false }: BackwardOptions = {}): void {
    const gradients = gradient && [handle(gradient)];
    native.backward([handle(this)], gradients, retainGraph ?? createGraph, createGraph);
  }

  /** Takes over another tensor's memory, keeping its own identity: as `this.data = source` in PyTorch. */
  share_(source: Tensor): this {
    native.share(handle(this), handle(source));
    return this.forgetShape();
  }

  // --- Values

  /** The one element as a number. */
  item(): number {
    return Number(native.item(handle(this)));
  }

  /** The elements in row-major order; float16 and bfloat16 come as Float32Array, bool as Uint8Array. */
  data(): TypedArray {
    if (this.dtype.startsWith("complex")) {
      throw new EngineError(
        `data: JavaScript has no array for ${this.describe()}; call("aten::view_as_real") gives its parts`,
      );
    }
    const target = arrayFor(this.dtype, this.numel);
    if (target) {
      native.read(handle(this), target);
      return target;
    }
    return scope(() => this.detach().toDType("float32").data());
  }

  /** The bytes of the elements in row-major order, as they are. */
  bytes(): Uint8Array {
    const target = arrayFor("uint8", this.numel * bytesOf(this.dtype)) as Uint8Array;
    native.read(handle(this), target);
    return target;
  }

  /** The elements as numbers, in row-major order. */
  toNumbers(): number[] {
    return Array.from(this.data() as ArrayLike<number | bigint>, Number);
  }

  /** The elements nested in arrays, as deep as there are dimensions. */
  toArray(): Nested {
    return nest(this.toNumbers(), this.shape);
  }

  /** `float32[4, 3]` */
  describe(): string {
    return this.handle > 0 ? native.describe(this.handle) : "a freed tensor";
  }

  override toString(): string {
    return this.handle > 0 ? formatTensor(this) : "Tensor (freed)";
  }

  [inspect.custom](): string {
    return this.toString();
  }

  // --- Life

  /** Frees it now; a second call does nothing. */
  dispose(): void {
    if (this.handle === 0) return;
    native.free(this.release());
  }

  /** @internal Gives up the handle to whoever asks: this tensor counts as freed, what it held does not. */
  release(): Handle {
    const value = handle(this);
    this.handle = 0;
    if (this.orphan) untrack(this);
    return value;
  }

  [Symbol.dispose](): void {
    this.dispose();
  }

  /** @internal What the garbage collector calls for a tensor made outside any scope; must not refer to the tensor. */
  freeLater(): () => void {
    const { handle } = this;
    return () => {
      if (native.isLive(handle)) native.free(handle);
    };
  }
}

/** How a backward pass is run. */
export interface BackwardOptions {
  /** The gradient of the output; needed unless it is a scalar. */
  gradient?: Tensor;
  /** Keep the graph for another pass; the default is the value of `createGraph`. */
  retainGraph?: boolean;
  /** Make the gradients differentiable themselves. */
  createGraph?: boolean;
}

setTensorFactory((value) => new Tensor(value));

/** The gradients of outputs with respect to inputs, without touching `.grad`; null where an input was not used. */
export function grad(
  outputs: Tensor | readonly Tensor[],
  inputs: readonly Tensor[],
  options: BackwardOptions & { gradients?: readonly Tensor[]; allowUnused: true },
): (Tensor | null)[];
export function grad(
  outputs: Tensor | readonly Tensor[],
  inputs: readonly Tensor[],
  options?: BackwardOptions & { gradients?: readonly Tensor[]; allowUnused?: boolean },
): Tensor[];
export function grad(
  outputs: Tensor | readonly Tensor[],
  inputs: readonly Tensor[],
  options: BackwardOptions & { gradients?: readonly Tensor[]; allowUnused?: boolean } = {},
): (Tensor | null)[] {
  const { createGraph = false, retainGraph = createGraph, allowUnused = false } = options;
  const all = outputs instanceof Tensor ? [outputs] : outputs;
  const gradients = options.gradients ?? (options.gradient && [options.gradient]);
  return native
    .grad(all.map(handle), inputs.map(handle), gradients?.map(handle), retainGraph, createGraph, allowUnused)
    .map((value) => (value === null ? null : new Tensor(value)));
}

/** Runs `body` without recording a graph. The body is synchronous: after an `await` it would be recorded again. */
export function noGrad<T>(body: () => T): T {
  const before = loadNative().setGradEnabled(false);
  try {
    return refuseAsync("noGrad", body());
  } finally {
    native.setGradEnabled(before);
  }
}

/** What a new tensor is to be. */
export interface TensorOptions {
  dtype?: DType;
  device?: string;
}

/** A tensor of these numbers: nested arrays (float32 by default), or a typed array (its own type) with a shape. */
export function tensor(data: Nested | TypedArray, options: TensorOptions & { shape?: readonly number[] } = {}): Tensor {
  if (ArrayBuffer.isView(data)) checkAttached(data);
  const source = ArrayBuffer.isView(data)
    ? { values: data, shape: [data.length], stored: dtypeOf(data, options.dtype), dtype: dtypeOf(data, options.dtype) }
    : flatten(data, options.dtype);
  const made = new Tensor(loadNative().fromBytes(source.values, source.stored, options.shape ?? source.shape));
  const dtype = options.dtype ?? source.dtype;
  if (source.stored === dtype && (options.device ?? "cpu") === "cpu") return made;
  try {
    return made.to({ dtype, device: options.device });
  } finally {
    made.dispose();
  }
}

/** A tensor read straight from a file into its memory. */
export function tensorFromFile(fd: number, offset: number, dtype: DType, shape: readonly number[]): Tensor {
  return new Tensor(loadNative().readFile(fd, offset, dtype, shape));
}

/** Numbers one by one, or in one list. */
type Sizes = readonly number[] | readonly [readonly number[]];
const sizes = (given: Sizes): readonly number[] => (Array.isArray(given[0]) ? given[0] : (given as readonly number[]));

const list = (dim: number | readonly number[]): readonly number[] => (typeof dim === "number" ? [dim] : dim);
