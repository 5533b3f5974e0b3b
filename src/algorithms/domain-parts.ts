/**
 * A batch by training domain: the features, losses and rows of each.
 *
 * Where the reference implementations run the network once a domain, one run over all rows gives the same numbers, unless
 * a layer takes statistics of the rows it is given: batch norm that is trained, not frozen. So the network runs once
 * where it can, which is quicker, and once a part where it must.
 */

import { cat, stack } from "../engine/ops.generated.js";
import type { Tensor } from "../engine/tensor.js";
import { BatchNorm, crossEntropy, type Layer } from "../nn/index.js";
import type { Batch } from "./algorithm.js";

/** The features of some rows, all of them and part by part. */
export interface PartFeatures {
  readonly features: Tensor; // [rows, width]
  readonly parts: readonly Tensor[];
}

/** The features of each domain, as if the network had seen that domain alone. */
export function featuresByDomain(backbone: Layer, { x, domains }: Batch): PartFeatures {
  return featuresOfParts(
    backbone,
    domains.map((each) => each.x),
    x,
  );
}

/** The features of each part, as if the network had seen it alone; `whole` is the parts one after the other. */
export function featuresOfParts(backbone: Layer, parts: readonly Tensor[], whole = cat(parts)): PartFeatures {
  if (mixesRows(backbone)) {
    const features = parts.map((part) => backbone.forward(part));
    return { features: cat(features), parts: features };
  }
  const features = backbone.forward(whole);
  return { features, parts: rowsLike(parts, features) };
}

/** The rows of each domain in a tensor that has a row a sample of the batch. */
export function rowsByDomain(tensor: Tensor, { domains }: Batch): Tensor[] {
  return rowsLike(
    domains.map(({ y }) => y),
    tensor,
  );
}

/** The mean cross-entropy of each domain, [domains], from the logits of the whole batch. */
export function lossByDomain(logits: Tensor, batch: Batch): Tensor {
  return stack(rowsByDomain(logits, batch).map((own, e) => crossEntropy(own, batch.domains[e].y)));
}

function rowsLike(parts: readonly Tensor[], tensor: Tensor): Tensor[] {
  let start = 0;
  return parts.map(({ rows }) => {
    start += rows;
    return tensor.narrow(0, start - rows, rows);
  });
}

/** Whether a layer takes statistics of the rows it is given. */
export function mixesRows(network: Layer): boolean {
  for (const [, layer] of network.modules()) if (layer instanceof BatchNorm && layer.usesBatch) return true;
  return false;
}
