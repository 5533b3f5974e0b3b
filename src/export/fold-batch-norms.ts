/**
 * Batch norms folded into the convolutions before them, in place: what follows has weight 1, mean 0 and a variance that comes
 * to 1 with its epsilon, and only its bias is left to add where the convolution has none of its own. The network computes the
 * same in evaluation, and its tensors keep their names and shapes, so that every program that knows the architecture loads it.
 */

import { ResNet } from "../backbones/index.js";
import { scope } from "../engine/scope.js";
import { noGrad } from "../engine/tensor.js";
import { BatchNorm, Conv2d, type Module, Sequential } from "../nn/index.js";

/** Folds all pairs in a module and returns how many there were. */
export function foldBatchNorms(module: Module): number {
  const pairs = [...pairsIn(module)];
  for (const [conv, norm] of pairs) fold(conv, norm);
  return pairs.length;
}

/**
 * Convolutions directly followed by a batch norm: neighbours in a `Sequential`, and in a ResNet and its blocks conv1 and bn1, and
 * so on. (A WideResNet has the same names, but its norms come first.)
 */
function* pairsIn(module: Module, ofResNet = false): Generator<[Conv2d, BatchNorm]> {
  const inside = ofResNet || module instanceof ResNet;
  const children = new Map(module.children());
  if (module instanceof Sequential) {
    for (const [i, layer] of module.layers.entries()) {
      const next = module.layers[i + 1];
      if (layer instanceof Conv2d && next instanceof BatchNorm) yield [layer, next];
    }
  } else if (inside) {
    for (const [name, conv] of children) {
      const norm = children.get(name.replace("conv", "bn"));
      if (conv instanceof Conv2d && norm instanceof BatchNorm) yield [conv, norm];
    }
  }
  for (const child of children.values()) yield* pairsIn(child, inside);
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
