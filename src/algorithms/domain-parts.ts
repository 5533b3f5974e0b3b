/**
 * Splits a batch by training domain: the features, losses and rows of each domain.
 *
 * The reference implementations run the network once for each domain. A single forward pass over all rows gives the
 * same numbers, except if a layer computes statistics over its rows, which is the case for batch norm that is not
 * frozen. So the network runs once if possible, which is faster, and once for each part otherwise.
 */

import { cat, stack } from "../engine/ops.generated.js";
import type { Tensor } from "../engine/tensor.js";
import { BatchNorm, crossEntropy, type Layer } from "../nn/index.js";
import type { Batch, Minibatch } from "./algorithm.js";

/** The features of some rows, all together and for each part. */
export interface PartFeatures {
  readonly features: Tensor; // [rows, width]
  readonly parts: readonly Tensor[];
}

/** Returns the features of each domain, as if the network had processed that domain alone. */
export function featuresByDomain(backbone: Layer, { x, domains }: Batch): PartFeatures {
  return featuresOfParts(
    backbone,
    domains.map((each) => each.x),
    x,
  );
}

/**
 * Returns the features of each part, as if the network had processed it alone. `whole` is the concatenation of the
 * parts.
 */
export function featuresOfParts(backbone: Layer, parts: readonly Tensor[], whole = cat(parts)): PartFeatures {
  if (mixesRows(backbone)) {
    const features = parts.map((part) => backbone.forward(part));
    return { features: cat(features), parts: features };
  }
  const features = backbone.forward(whole);
  return { features, parts: rowsLike(parts, features) };
}

/** Returns the rows of each domain in a tensor with one row per sample of the batch. */
export function rowsByDomain(tensor: Tensor, { domains }: { domains: readonly Pick<Minibatch, "y">[] }): Tensor[] {
  return rowsLike(
    domains.map(({ y }) => y),
    tensor,
  );
}

/** Returns the mean cross-entropy of each domain, [domains], from the logits of the whole batch. */
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

/** Returns true if a layer computes statistics over the rows of its input. */
export function mixesRows(network: Layer): boolean {
  for (const [, layer] of network.modules()) if (layer instanceof BatchNorm && layer.usesBatch) return true;
  return false;
}
