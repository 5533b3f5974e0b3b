/**
 * What an optimizer's fused kernel on a GPU demands of a parameter: that its gradient and what is remembered of it (Adam's
 * moments) have its dtype, its device and its order in memory. The CPU computes with others too, so a mistake stops a run on a
 * GPU only; `nudge doctor --full` and the tests look for it on every device.
 */

import type { Tensor } from "../engine/tensor.js";
import type { EngineError } from "../errors.js";

/** In words, what of a parameter's gradient and memory differs from the parameter; empty where nothing does. */
export function mismatchesOf(parameter: Tensor, memory: readonly (readonly [name: string, Tensor])[]): string[] {
  using gradient = parameter.grad;
  const others = gradient ? [["grad", gradient] as const, ...memory] : memory;
  return others.flatMap(([name, other]) => {
    const fits = other.describe() === parameter.describe() && other.isLaidOutAs(parameter);
    return fits ? [] : [`a parameter is ${inWords(parameter)}, its ${name} ${inWords(other)}`];
  });
}

const inWords = (tensor: Tensor): string => `${tensor.describe()} with strides [${tensor.strides.join(", ")}]`;

/** The message of an operator that failed on hundreds of tensors: its reason, then the first three that do not fit together. */
export function shortened({ message }: EngineError, mismatches: readonly string[]): string {
  const reason = message.replace(/^([\w:]+)\(.*?\): /s, "$1: ").split("\n")[0];
  if (mismatches.length === 0) return reason;
  const more = mismatches.length > 3 ? `; and ${mismatches.length - 3} more` : "";
  return `${reason} (${mismatches.slice(0, 3).join("; ")}${more})`;
}
