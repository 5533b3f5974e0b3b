/**
 * Simple operators on many tensors at once. On a GPU each tensor of a network would be a launch of its own, which for hundreds of small
 * ones takes longer than the work; multi-tensor operators need a few launches for all.
 */

import { groupBy } from "../group-by.js";
import { loadNative } from "./load.js";
import { callPrivate } from "./operator.js";
import { noGrad, type Tensor } from "./tensor.js";

/** Copies each of the sources into the target at its position. */
export function copyAll(targets: readonly Tensor[], sources: readonly Tensor[]): void {
  onMany("aten::_foreach_copy_", targets, sources, (target, source) => target.copy_(source));
}

/** Fills tensors with zeros. */
export function zeroAll(tensors: readonly Tensor[]): void {
  onMany("aten::_foreach_zero_", tensors, undefined, (each) => each.zero_());
}

/** Copies of tensors, laid out in memory as they are. */
export function cloneAll(tensors: readonly Tensor[]): Tensor[] {
  const copies = noGrad(() => tensors.map((each) => each.detach().emptyLike()));
  copyAll(copies, tensors);
  return copies;
}

/** Zeros of the shapes of tensors, laid out in memory as they are. */
export function zerosLikeAll(tensors: readonly Tensor[]): Tensor[] {
  const zeros = noGrad(() => tensors.map((each) => each.detach().emptyLike()));
  zeroAll(zeros);
  return zeros;
}

function onMany(
  operator: string,
  targets: readonly Tensor[],
  others: readonly Tensor[] | undefined,
  one: (target: Tensor, other: Tensor) => unknown,
): void {
  noGrad(() => {
    // On the CPU they are loops as well; libtorch before 2.1 has no operator that copies.
    if (targets.length === 0 || targets[0].device === "cpu" || loadNative().overloads(operator).length === 0) {
      for (const [i, target] of targets.entries()) one(target, others?.[i] ?? target);
      return;
    }
    // Tensors of one dtype together: with several, the operators go one by one again.
    const parts = groupBy(targets.keys(), (i) => targets[i].dtype);
    for (const part of parts.values()) {
      const lists = [targets, ...(others ? [others] : [])].map((all) => part.map((i) => all[i]));
      callPrivate(operator, ...lists);
    }
  });
}
