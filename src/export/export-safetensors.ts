/**
 * Exports a model as a safetensors file for other programs. Batch norms are folded, the tensors of the backbone have
 * the names of its published checkpoints after `backbone.` (torchvision's names for ResNets and MobileNetV2), and the
 * metadata contains labels, preprocessing and license. NUDGE can still load the file.
 */

import type { Tensor } from "../engine/tensor.js";
import { writeWeights } from "../engine/weights.js";
import { storedDistance } from "../model/domain-distance.js";
import type { Model } from "../model/index.js";
import { exportMetadata } from "./export-metadata.js";
import { foldBatchNorms } from "./fold-batch-norms.js";

/** Writes the model. Folding changes the batch norms of the model itself; its outputs change only by rounding. */
export function exportSafetensors(model: Model, path: string): void {
  const tensors = new Map<string, Tensor>();
  foldBatchNorms(model);
  for (const [name, module] of Object.entries(model.network.modules)) {
    for (const [own, tensor] of module.stateDict()) tensors.set(`${name}.${own}`, tensor);
  }
  if (model.distanceStatistics)
    for (const [name, tensor] of storedDistance(model.distanceStatistics)) tensors.set(name, tensor);
  // Other readers of safetensors recognize the layout of dimensions by `format: pt`. No checksums are stored: programs
  // that rewrite such files keep unknown keys, and the checksums would then be wrong.
  writeWeights(path, tensors, { ...exportMetadata(model.about), format: "pt" }, { checksums: false });
}
