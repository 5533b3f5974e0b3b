/**
 * Checks the requirements of a fused optimizer kernel on a GPU: the gradient and the state of a parameter (such as
 * Adam's moments) must have the dtype, the device and the strides of the parameter. The CPU accepts any of these, so a
 * mismatch only stops runs on a GPU. `nudge doctor --full` and the tests run this check on every device.
 */

import type { Tensor } from "../engine/tensor.js";
import type { EngineError } from "../errors.js";

/** Describes where the gradient and the state of a parameter differ from the parameter. Empty if nothing differs. */
export function mismatchesOf(parameter: Tensor, memory: readonly (readonly [name: string, Tensor])[]): string[] {
  using gradient = parameter.grad;
  const others = gradient ? [["grad", gradient] as const, ...memory] : memory;
  return others.flatMap(([name, other]) => {
    const fits = other.describe() === parameter.describe() && other.hasSameLayoutAs(parameter);
    return fits ? [] : [`a parameter is ${describeLayout(parameter)}, its ${name} ${describeLayout(other)}`];
  });
}

const describeLayout = (tensor: Tensor): string => `${tensor.describe()} with strides [${tensor.strides.join(", ")}]`;

/** Shortens the error of an operator with hundreds of tensors to its reason and the first three mismatches. */
export function shortenError({ message }: EngineError, mismatches: readonly string[]): string {
  const reason = message.replace(/^([\w:]+)\(.*?\): /s, "$1: ").split("\n")[0];
  if (mismatches.length === 0) return reason;
  const more = mismatches.length > 3 ? `; and ${mismatches.length - 3} more` : "";
  return `${reason} (${mismatches.slice(0, 3).join("; ")}${more})`;
}
