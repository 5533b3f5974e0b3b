/**
 * Simple operators on many tensors at once. On a GPU each tensor of a network would be a launch of its own, which for hundreds of small
 * ones takes longer than the work; multi-tensor operators need a few launches for all.
 */

import { groupBy } from "../group-by.js";
import { loadNative } from "./load.js";
import { callPrivate } from "./operator.js";
import { _foreachAdd_, _foreachSub } from "./ops.generated.js";
import { scope } from "./scope.js";
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

/**
 * Moves each of the targets towards the source at its position: t ← t + weight·(s − t). The weight is a number or a scalar tensor on
 * their device, which the host does not read.
 */
export function lerpAll(targets: readonly Tensor[], sources: readonly Tensor[], weight: number | Tensor): void {
  if (typeof weight === "number") {
    const one = (target: Tensor, source: Tensor): Tensor => target.lerp_(source, weight);
    onMany("aten::_foreach_lerp_.Scalar", targets, sources, one, weight);
    return;
  }
  noGrad(() =>
    scope(() => {
      for (const part of partsOf("aten::_foreach_mul_.Tensor", targets)) {
        const [to, from] = [targets, sources].map((all) => part.places.map((i) => all[i]));
        const factor = weight.toDType(to[0].dtype);
        if (!part.isTogether) to[0].lerpTensor_(from[0], factor);
        else {
          const steps = _foreachSub(from, to);
          callPrivate("aten::_foreach_mul_.Tensor", steps, factor);
          _foreachAdd_(to, steps);
        }
      }
    }),
  );
}

function onMany(
  operator: string,
  targets: readonly Tensor[],
  others: readonly Tensor[] | undefined,
  one: (target: Tensor, other: Tensor) => unknown,
  ...more: readonly unknown[]
): void {
  noGrad(() => {
    for (const { places, isTogether } of partsOf(operator, targets)) {
      const lists = [targets, ...(others ? [others] : [])].map((all) => places.map((i) => all[i]));
      if (isTogether) callPrivate(operator, ...lists, ...more);
      else one(lists[0][0], lists.at(-1)![0]);
    }
  });
}

/** Places of tensors that one call of an operator computes together, or the place of one tensor. */
interface PartOfMany {
  readonly places: readonly number[];
  readonly isTogether: boolean;
}

/** Divides tensors into those of one dtype: with several, the operators go one by one again. */
function partsOf(operator: string, tensors: readonly Tensor[]): PartOfMany[] {
  const places = [...tensors.keys()];
  // On the CPU they are loops as well, and older versions of libtorch do not have all operators.
  if (tensors.length === 0 || tensors[0].device === "cpu" || !hasOperator(operator))
    return places.map((i) => ({ places: [i], isTogether: false }));
  const byDType = groupBy(places, (i) => tensors[i].dtype);
  return [...byDType.values()].map((part) => ({ places: part, isTogether: true }));
}

function hasOperator(name: string): boolean {
  const [base, overload = ""] = name.split(".");
  return loadNative().overloads(base).includes(overload);
}
