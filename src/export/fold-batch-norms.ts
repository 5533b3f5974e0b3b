/**
 * Folds batch norms into the convolutions before them, in place. The batch norm keeps weight 1, mean 0 and a variance
 * that is 1 together with its epsilon; only its bias remains if the convolution has no bias. In evaluation mode the
 * network computes the same outputs, and its tensors keep their names and shapes, so any program that knows the
 * architecture can load it.
 */

import { scope } from "../engine/scope.js";
import { noGrad } from "../engine/tensor.js";
import { UsageError } from "../errors.js";
import type { Model } from "../model/index.js";
import { BatchNorm, Conv2d } from "../nn/index.js";
import { foldedNorms } from "./onnx-layer-operators.js";
import type { Trace, TracedCall, TracedTensor } from "./trace.js";
import { traceModel } from "./trace-model.js";

/**
 * Folds all pairs in the trace of a model's forward pass, and returns their number. The number is 0 if the model cannot
 * be traced, for example because its prediction is random.
 */
export function foldBatchNorms(model: Model): number {
  const pairs = [...pairsIn(model)];
  for (const [conv, norm] of pairs) fold(conv, norm);
  return pairs.length;
}

function* pairsIn(model: Model): Generator<[Conv2d, BatchNorm]> {
  using traced = traceOrNull(model);
  if (!traced) return;
  const layers = Object.values(model.network.modules).flatMap((module) => [...module.modules()]);
  const owners = new Map(
    layers.flatMap(([, layer]) =>
      layer instanceof Conv2d || layer instanceof BatchNorm ? [[layer.weight.handle, layer]] : [],
    ),
  );
  const weightOf = ({ arguments: { weight } }: TracedCall) => (weight as TracedTensor | null)?.source ?? 0;
  const isUsedOnce = (call: TracedCall) =>
    traced.calls.filter((each) => weightOf(each) === weightOf(call)).length === 1;
  for (const pair of foldedNorms(traced.calls, Object.values(traced.outputs))) {
    const [norm, conv] = pair.map((call) => owners.get(weightOf(call)));
    if (conv instanceof Conv2d && norm instanceof BatchNorm && pair.every(isUsedOnce)) yield [conv, norm];
  }
}

function traceOrNull(model: Model): Trace | null {
  try {
    return traceModel(model);
  } catch (error) {
    if (error instanceof UsageError) return null;
    throw error;
  }
}

function fold(conv: Conv2d, norm: BatchNorm): void {
  scope(() =>
    noGrad(() => {
      const { scale, shift } = norm.affine();
      conv.weight.mul_(scale.view(-1, 1, 1, 1));
      if (conv.bias) conv.bias.mul_(scale).add_(shift);
      if (conv.bias) norm.bias.zero_();
      else norm.bias.copy_(shift);
      norm.weight.fill_(1);
      norm.running_mean.zero_();
      norm.running_var.fill_(1 - norm.eps);
    }),
  );
}
