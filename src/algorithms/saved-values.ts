/**
 * Values put aside, for methods that walk away from the weights and come back: MLDG, mDSDI and Fish. The reference copies
 * the network instead; putting its values aside does the same without building another.
 */

import { noGrad, type Tensor } from "../engine/tensor.js";
import type { Module } from "../nn/index.js";

/** Copies of the values of modules' parameters and buffers, by the tensor they are of. */
export type SavedValues = ReadonlyMap<Tensor, Tensor>;

/** Copies all values; the scope around frees the copies. */
export function saveValues(modules: readonly Module[]): SavedValues {
  return noGrad(
    () => new Map(modules.flatMap((module) => [...module.stateDict().values()].map((own) => [own, own.clone()]))),
  );
}

/** Puts them back. */
export function restoreValues(saved: SavedValues): void {
  noGrad(() => {
    for (const [own, value] of saved) own.copy_(value);
  });
}
