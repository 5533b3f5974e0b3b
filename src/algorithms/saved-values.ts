/**
 * Saves and restores weights, for methods that temporarily change them: MLDG, mDSDI and Fish. DomainBed copies the
 * network instead. Saving its values has the same effect without building another network.
 */

import { noGrad, type Tensor } from "../engine/tensor.js";
import type { Module } from "../nn/index.js";

/** Copies of the parameters and buffers of modules, by the original tensor. */
export type SavedValues = ReadonlyMap<Tensor, Tensor>;

/** Copies all values. The enclosing scope frees the copies. */
export function saveValues(modules: readonly Module[]): SavedValues {
  return noGrad(
    () => new Map(modules.flatMap((module) => [...module.stateDict().values()].map((own) => [own, own.clone()]))),
  );
}

/** Restores the saved values. */
export function restoreValues(saved: SavedValues): void {
  noGrad(() => {
    for (const [own, value] of saved) own.copy_(value);
  });
}
