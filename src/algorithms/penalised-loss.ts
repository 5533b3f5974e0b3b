/** Losses with regularization terms, for algorithms that run their own backward passes. */

import type { Backbone } from "../backbones/index.js";
import type { Tensor } from "../engine/tensor.js";
import { crossEntropy, type Layer } from "../nn/index.js";
import type { Batch, Minibatch, RowLabels, StepContext } from "./algorithm.js";

/** Adds the active regularizers' penalties on these features to the loss, and checks that it is finite. */
export function addPenalty(
  loss: Tensor,
  ctx: StepContext,
  features: Tensor,
  logits: Tensor,
  labels?: RowLabels | null,
): Tensor {
  const term = ctx.penalty(features, logits, labels);
  return ctx.checked(term ? loss.add(term) : loss);
}

/** Returns the mean cross-entropy of samples plus the regularizers' penalties. */
export function penalisedCrossEntropy(
  { backbone, classifier }: { readonly backbone: Backbone; readonly classifier: Layer },
  samples: Minibatch | Batch,
  ctx: StepContext,
): Tensor {
  const { x, y } = samples;
  const features = backbone.forward(x); // [n, width]
  const logits = classifier.forward(features); // [n, classes]
  return addPenalty(crossEntropy(logits, y), ctx, features, logits, "domains" in samples ? undefined : { y });
}
