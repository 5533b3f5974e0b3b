/** Converts between tensors and handles of the addon. Only the generated operators and tensor.ts use this file. */

import { EngineError } from "../errors.js";
import type { Handle } from "./native.js";
import type { RandomGenerator } from "./random.js";
import type { Tensor } from "./tensor.js";

/** The memory layout of a 4-D tensor. */
export type MemoryFormat = "contiguous" | "channels_last" | "preserve";

// tensor.ts registers its constructor when it is loaded, because the generated operators are loaded before it.
let make: (handle: Handle) => Tensor;

/** Called once by tensor.ts. */
export function setTensorFactory(factory: (handle: Handle) => Tensor): void {
  make = factory;
}

/** Returns the handle of a live tensor. Anything else is an error. */
export function handle(tensor: { readonly handle: Handle }): Handle {
  const value = tensor?.handle;
  if (value > 0) return value;
  throw notLive(tensor);
}

function notLive(value: unknown): EngineError {
  const isTensor = typeof value === "object" && value !== null && "handle" in value;
  return new EngineError(
    isTensor
      ? "this tensor has been freed: its scope ended or it was disposed of. Return it from the scope, or keep() it"
      : `expected a tensor, got ${value === null ? "null" : Array.isArray(value) ? "an array" : typeof value}`,
  );
}

/** Converts a tensor or a number. A number takes part in arithmetic without affecting the result's dtype. */
export function operand(value: Tensor | number): Handle | [number] {
  return typeof value === "number" || typeof value === "boolean" || typeof value === "bigint"
    ? [value as number]
    : handle(value);
}

export function optionalHandle(value: Tensor | null | undefined): Handle | null | undefined {
  return value === undefined || value === null ? value : handle(value);
}

export function handles(tensors: readonly Tensor[]): Handle[] {
  if (!Array.isArray(tensors)) throw new EngineError(`expected an array of tensors, got ${typeof tensors}`);
  return tensors.map(handle);
}

export function optionalHandles(tensors: readonly (Tensor | null)[]): (Handle | null)[] {
  if (!Array.isArray(tensors)) throw new EngineError(`expected an array of tensors, got ${typeof tensors}`);
  return tensors.map((tensor) => (tensor === null || tensor === undefined ? null : handle(tensor)));
}

export function generatorId(generator: RandomGenerator | null | undefined): number | null | undefined {
  return generator === undefined || generator === null ? generator : generator.id;
}

/** Wraps a handle that the addon returned in a tensor. */
export function one(value: unknown): Tensor {
  return make(value as Handle);
}

/** Wraps several handles that the addon returned in tensors. */
export function many(values: unknown): Tensor[] {
  return (values as Handle[]).map(make);
}
