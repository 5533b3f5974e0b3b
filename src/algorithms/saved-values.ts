/**
 * Saves and restores weights, for methods that temporarily change them: MLDG, mDSDI and Fish. DomainBed copies the
 * network instead. Saving its values has the same effect without building another network.
 */

import { cloneAll, copyAll } from "../engine/many-tensors.js";
import type { Tensor } from "../engine/tensor.js";
import type { Module } from "../nn/index.js";

/** Copies of the parameters and buffers of modules, by the original tensor. */
export type SavedValues = ReadonlyMap<Tensor, Tensor>;

/** Copies all values. The enclosing scope frees the copies. */
export function saveValues(modules: readonly Module[]): SavedValues {
  const own = modules.flatMap((module) => [...module.stateDict().values()]);
  const copies = cloneAll(own);
  return new Map(own.map((each, i) => [each, copies[i]]));
}

/** Restores the saved values. */
export function restoreValues(saved: SavedValues): void {
  copyAll([...saved.keys()], [...saved.values()]);
}
