/**
 * A tensor: an array of numbers in the engine. The operators of ops.generated.ts are its methods, together with the
 * methods below. In-place methods end in `_`. A tensor's memory is freed by its scope (scope.ts), not by the garbage
 * collector.
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
  /** @internal The index in the addon; 0 after it has been freed. */
  handle: Handle;
  /** @internal Whether scopes do not free it. */
  kept = false;
  /** @internal Whether it was created outside any scope, so that the garbage collector may free it. */
  orphan = false;
  private sizes: readonly number[] | undefined;

  /** @internal Takes ownership of a handle of the addon. */
  constructor(handle: Handle) {
    super();
    this.handle = handle;
    track(this);
  }

  /** The sizes of all dimensions: `const [n, d] = features.shape`. */
  get shape(): readonly number[] {
    this.sizes ??= native.shape(handle(this));
    return this.sizes;
  }

  /** @internal Clears the cached shape after an operator may have changed it in place. */
  clearShapeCache(): this {
    this.sizes = undefined;
    return this;
  }

  /** Returns the size of one dimension. Negative numbers count from the last dimension. */
  size(dim: number): number {
    const size = this.shape.at(dim);
    if (size === undefined)
      throw new EngineError(`size(${dim}): ${this.describe()} has ${this.shape.length} dimensions`);
    return size;
  }

  /** The size of the first dimension, which is the number of samples of a batch. */
  get rows(): number {
    return this.size(0);
  }

  get numel(): number {
    return this.shape.reduce((product, size) => product * size, 1);
  }

  get strides(): readonly number[] {
    return native.strides(handle(this));
  }

  /** Returns true if the elements have the same order in memory as those of a tensor of the same shape. */
  hasSameLayoutAs({ strides }: Tensor): boolean {
    return this.strides.every((stride, dim) => stride === strides[dim] || this.shape[dim] === 1);
  }

  get dtype(): DType {
    return native.dtype(handle(this)) as DType;
  }

  /** The device, such as `cpu` or `cuda:0`. */
  get device(): string {
    return native.device(handle(this));
  }

  get isChannelsLast(): boolean {
    return native.isChannelsLast(handle(this));
  }

  /** Whether the tensor has been freed. */
  get isDisposed(): boolean {
    return this.handle === 0;
  }

  /** Returns true if both tensors start at the same address in memory. */
  sharesMemoryWith(other: Tensor): boolean {
    return native.address(handle(this)) === native.address(handle(other));
  }

  // --- Arithmetic and reductions with several overloads

  /** Returns the sum of all elements, or over some dimensions. */
  sum(dim?: number | readonly number[], keepdim = false): Tensor {
    return dim === undefined ? this.sumAll() : this.sumOver(list(dim), keepdim);
  }

  /** Returns the mean of all elements, or over some dimensions. */
  mean(dim?: number | readonly number[], keepdim = false): Tensor {
    return dim === undefined ? this.meanAll() : this.meanOver(list(dim), keepdim);
  }

  /** Returns the variance over some dimensions (all by default). A `correction` of 1 divides by n − 1. */
  variance(dim?: number | readonly number[], { correction = 1, keepdim = false } = {}): Tensor {
    return this.varCorrection(dim === undefined ? null : list(dim), { correction, keepdim });
  }

  /** Returns the largest element, or the largest along a dimension. */
  max(dim?: number, keepdim = false): Tensor {
    return dim === undefined ? this.maxAll() : this.amax([dim], keepdim);
  }

  /** Returns the smallest element, or the smallest along a dimension. */
  min(dim?: number, keepdim = false): Tensor {
    return dim === undefined ? this.minAll() : this.amin([dim], keepdim);
  }

  /** Returns the 2-norm of all elements, or over some dimensions. `order` selects another norm. */
  norm(dim?: number | readonly number[], { order = 2, keepdim = false } = {}): Tensor {
    return this.vectorNorm(order, dim === undefined ? null : list(dim), keepdim);
  }

  /**
   * Selects elements of this tensor where the condition is true, and of `other` elsewhere. On a GPU, `where` would copy a number from the
   * CPU, which a captured update must not do.
   */
  where(condition: Tensor, other: Tensor | number): Tensor {
    if (typeof other === "number" && this.device !== "cpu") return this.maskedFill(condition.logicalNot(), other);
    return ops.where(condition, this, other);
  }

  // --- Shape

  /** Returns the same elements with another shape: `view(2, 3)` or `view([2, 3])`. */
  view(...shape: Sizes): Tensor {
    return this.viewAs(sizes(shape));
  }

  /** Like `view`, but copies the elements if the memory layout requires it. */
  reshape(...shape: Sizes): Tensor {
    return this.reshapeTo(sizes(shape));
  }

  /** Reorders the dimensions: `permute(1, 0)` or `permute([1, 0])`. */
  override permute(...dims: Sizes): Tensor {
    return super.permute(sizes(dims));
  }

  /** Returns the rows at these positions. */
  take(rows: Tensor | readonly number[]): Tensor {
    const index = rows instanceof Tensor ? rows : tensor(rows, { dtype: "int64", device: this.device });
    return this.indexSelect(0, index);
  }

  // --- Type, device, layout

  /** Converts to another dtype, device or memory format. Returns this tensor if nothing changes. */
  to({ dtype, device, memoryFormat }: { dtype?: DType; device?: string; memoryFormat?: MemoryFormat }): Tensor {
    if (device !== undefined) return this.toDevice(device, dtype ?? this.dtype, false, false, memoryFormat);
    if (dtype !== undefined) return this.toDType(dtype, false, false, memoryFormat);
    return memoryFormat === undefined ? this : this.contiguous({ memory_format: memoryFormat });
  }

  // --- Gradients

  get requiresGrad(): boolean {
    return native.requiresGrad(handle(this));
  }

  /** Enables or disables gradients with respect to this tensor. */
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

  /** The accumulated gradient of backward passes, or null. */
  get grad(): Tensor | null {
    const gradient = native.getGrad(handle(this));
    return gradient === null ? null : new Tensor(gradient);
  }

  /**
   * A gradient with a different memory layout is copied into the layout of this tensor, as in a backward pass, because
   * the fused optimizers of a GPU require the same layout.
   */
  set grad(gradient: Tensor | null) {
    native.setGrad(handle(this), gradient === null ? null : handle(gradient)); // rejects another shape, dtype or device
    if (gradient === null || gradient.hasSameLayoutAs(this)) return;
    using laidOut = this.emptyLike().copy_(gradient);
    native.setGrad(handle(this), handle(laidOut));
  }

  /** Adds the gradients of this scalar to `.grad` of the leaves that it depends on. */
  backward({ gradient, retainGraph, createGraph = false }: BackwardOptions = {}): void {
    const gradients = gradient && [handle(gradient)];
    native.backward([handle(this)], gradients, retainGraph ?? createGraph, createGraph);
  }

  /** Uses the memory of another tensor while keeping its own identity, like `this.data = source` in PyTorch. */
  share_(source: Tensor): this {
    native.share(handle(this), handle(source));
    return this.clearShapeCache();
  }

  // --- Values

  /** Returns the value of a tensor with one element. */
  item(): number {
    return Number(native.item(handle(this)));
  }

  /**
   * Returns the elements in row-major order. float16 and bfloat16 are converted to Float32Array, bool to Uint8Array.
   */
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

  /** Returns the raw bytes of the elements in row-major order. */
  bytes(): Uint8Array {
    const target = arrayFor("uint8", this.numel * bytesOf(this.dtype)) as Uint8Array;
    native.read(handle(this), target);
    return target;
  }

  /** Returns the elements as numbers, in row-major order. */
  toNumbers(): number[] {
    return Array.from(this.data() as ArrayLike<number | bigint>, Number);
  }

  /** Returns the elements as nested arrays. */
  toArray(): Nested {
    return nest(this.toNumbers(), this.shape);
  }

  /** Returns a description such as `float32[4, 3]`. */
  describe(): string {
    return this.handle > 0 ? native.describe(this.handle) : "a freed tensor";
  }

  override toString(): string {
    return this.handle > 0 ? formatTensor(this) : "Tensor (freed)";
  }

  [inspect.custom](): string {
    return this.toString();
  }

  // --- Lifetime

  /** Frees the tensor now. Further calls have no effect. */
  dispose(): void {
    if (this.handle === 0) return;
    native.free(this.release());
  }

  /** @internal Transfers the handle to the caller. This tensor then counts as freed, but its memory is not freed. */
  release(): Handle {
    const value = handle(this);
    this.handle = 0;
    if (this.orphan) untrack(this);
    return value;
  }

  [Symbol.dispose](): void {
    this.dispose();
  }

  /** @internal Returns the function that the garbage collector calls. It must not reference the tensor. */
  freeLater(): () => void {
    const { handle } = this;
    return () => {
      if (native.isLive(handle)) native.free(handle);
    };
  }
}

/** Options of a backward pass. */
export interface BackwardOptions {
  /** The gradient of the output. Required unless the output is a scalar. */
  gradient?: Tensor;
  /** Whether to keep the graph for another pass. The default is the value of `createGraph`. */
  retainGraph?: boolean;
  /** Whether the gradients should be differentiable. */
  createGraph?: boolean;
}

setTensorFactory((value) => new Tensor(value));

/** Returns the gradients of outputs with respect to inputs without changing `.grad`; null for unused inputs. */
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

/**
 * Runs `body` without recording a graph. The body must be synchronous: after an `await`, recording would be active
 * again.
 */
export function noGrad<T>(body: () => T): T {
  const before = loadNative().setGradEnabled(false);
  try {
    return refuseAsync("noGrad", body());
  } finally {
    native.setGradEnabled(before);
  }
}

/** Options for a new tensor. */
export interface TensorOptions {
  dtype?: DType;
  device?: string;
}

/**
 * Creates a tensor from nested arrays (float32 by default), or from a typed array (with its dtype) and an optional
 * shape.
 */
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

/** Reads a tensor directly from a file into its memory. */
export function tensorFromFile(fd: number, offset: number, dtype: DType, shape: readonly number[]): Tensor {
  return new Tensor(loadNative().readFile(fd, offset, dtype, shape));
}

/** Numbers as separate arguments, or in one array. */
type Sizes = readonly number[] | readonly [readonly number[]];
const sizes = (given: Sizes): readonly number[] => (Array.isArray(given[0]) ? given[0] : (given as readonly number[]));

const list = (dim: number | readonly number[]): readonly number[] => (typeof dim === "number" ? [dim] : dim);
