/**
 * A model as a safetensors file for others: batch norms folded, the backbone's tensors under the names of the checkpoints it
 * goes with (torchvision's for ResNets and MobileNetV2, after `backbone.`), labels, preprocessing and licence in the metadata.
 * It is a model file of ours still.
 */

import type { Tensor } from "../engine/tensor.js";
import { writeWeights } from "../engine/weights.js";
import { storedDistance } from "../model/domain-distance.js";
import type { Model } from "../model/index.js";
import { exportMetadata } from "./export-metadata.js";
import { foldBatchNorms } from "./fold-batch-norms.js";

/** Writes the model. Its own batch norms are folded by it, which changes nothing but rounding. */
export function exportSafetensors(model: Model, path: string): void {
  const tensors = new Map<string, Tensor>();
  foldBatchNorms(model);
  for (const [name, module] of Object.entries(model.network.modules)) {
    for (const [own, tensor] of module.stateDict()) tensors.set(`${name}.${own}`, tensor);
  }
  if (model.distanceStatistics)
    for (const [name, tensor] of storedDistance(model.distanceStatistics)) tensors.set(name, tensor);
  // `format: pt` is how other readers of safetensors know whose layout of dimensions it is.
  // Other programs rewrite such files and keep what they do not know: checksums would soon be wrong.
  writeWeights(path, tensors, { ...exportMetadata(model.about), format: "pt" }, { checksums: false });
}
