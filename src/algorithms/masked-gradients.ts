/**
 * Mean gradients of the domains, masked: what AND-mask and SAND-mask share. With the gradients g_e of one parameter tensor and a mask
 * that is computed from them element by element,
 *
 *     g = mean_e(g_e)·mask / (mean(mask) + 1e-10),   where mean(mask) is over the elements of the tensor.
 *
 * On a GPU the tensors of a network are masked together, as one long vector: tensor by tensor it would be a dozen launches each.
 */

import { copyAll } from "../engine/many-tensors.js";
import { _foreachAddScalar_, _foreachDivScalars_, _foreachNorm, cat, stack } from "../engine/ops.generated.js";
import { scope } from "../engine/scope.js";
import { noGrad, type Tensor } from "../engine/tensor.js";

const EPS = 1e-10;

/** Computes the mask, at least 0, from the gradients of the domains [domains, …]. */
export type MaskOf = (all: Tensor) => Tensor;

/** The masked mean of the gradients of one parameter tensor. */
export function maskedMean(gradients: readonly Tensor[], maskOf: MaskOf): Tensor {
  const all = stack(gradients); // [domains, …]
  const mask = maskOf(all);
  return all.mean(0).mul(mask).div(mask.mean().add(EPS));
}

/** The masked means of all parameters; null for a parameter that no loss depends on: Adam skips it. */
export function maskedMeans(
  parameters: readonly Tensor[],
  byDomain: readonly (readonly (Tensor | null)[])[],
  maskOf: MaskOf,
): (Tensor | null)[] {
  const isTogether = (i: number): boolean =>
    parameters[i].device !== "cpu" && byDomain.every((gradients) => gradients[i] !== null);
  const means: (Tensor | null)[] = parameters.map((_, i) => {
    if (isTogether(i)) return null; // filled in below
    const gradients = byDomain.flatMap((own) => own[i] ?? []);
    return gradients.length === 0 ? null : scope(() => maskedMean(gradients, maskOf));
  });
  const together = [...parameters.keys()].filter(isTogether);
  if (together.length === 0) return means;
  const lists = byDomain.map((gradients) => together.map((i) => gradients[i]!));
  const made = maskedTogether(
    together.map((i) => parameters[i]),
    lists,
    maskOf,
  );
  for (const [k, i] of together.entries()) means[i] = made[k];
  return means;
}

/** The masked means of parameters of one dtype, in the layouts of the parameters. */
export function maskedTogether(
  parameters: readonly Tensor[],
  byDomain: readonly (readonly Tensor[])[],
  maskOf: MaskOf,
): Tensor[] {
  return noGrad(() =>
    scope(() => {
      const counts = parameters.map(({ numel }) => numel);
      const all = stack(byDomain.map((gradients) => cat(inMemoryOrder(gradients, parameters)))); // [domains, elements]
      const mask = maskOf(all);
      const product = all.mean(0).mul(mask);
      const shares = _foreachNorm(slices(mask, counts), 1); // the sums of the masks
      _foreachDivScalars_(shares, counts);
      _foreachAddScalar_(shares, EPS);
      return slices(product, counts).map((slice, i) =>
        slice.div_(shares[i]).asStrided(parameters[i].shape, parameters[i].strides, null),
      );
    }),
  );
}

/** Tensors as vectors of their elements in the order in which the parameters have them in memory. */
function inMemoryOrder(gradients: readonly Tensor[], parameters: readonly Tensor[]): Tensor[] {
  const other = [...gradients.keys()].filter((i) => !gradients[i].hasSameLayoutAs(parameters[i]));
  const copies = other.map((i) => parameters[i].detach().emptyLike());
  copyAll(
    copies,
    other.map((i) => gradients[i]),
  );
  return gradients.map((gradient, i) => {
    const at = other.indexOf(i);
    return (at < 0 ? gradient : copies[at]).asStrided([gradient.numel], [1], null);
  });
}

/** A vector cut into slices of these sizes. */
function slices(vector: Tensor, counts: readonly number[]): Tensor[] {
  let start = 0;
  return counts.map((count) => {
    start += count;
    return vector.narrow(0, start - count, count);
  });
}
