/** Between tensors and the handles the addon knows: used by the generated operators and by tensor.ts, not by others. */

import { EngineError } from "../errors.js";
import type { Handle } from "./native.js";
import type { RandomGenerator } from "./random.js";
import type { Tensor } from "./tensor.js";

/** How the elements of a 4-D tensor lie in memory. */
export type MemoryFormat = "contiguous" | "channels_last" | "preserve";

// tensor.ts registers its constructor when it loads: the generated operators stand before it in the order of modules.
let make: (handle: Handle) => Tensor;

/** Called once by tensor.ts. */
export function setTensorFactory(factory: (handle: Handle) => Tensor): void {
  make = factory;
}

/** The handle of a live tensor; anything else is an error. */
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

/** A tensor, or a number that takes part in arithmetic without deciding the dtype. */
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

/** The tensor of a handle the addon returned. */
export function one(value: unknown): Tensor {
  return make(value as Handle);
}

/** The tensors of several handles the addon returned. */
export function many(values: unknown): Tensor[] {
  return (values as Handle[]).map(make);
}
