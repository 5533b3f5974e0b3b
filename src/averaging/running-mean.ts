/**
 * A mean of parameters that takes in one set at a time: θ̄ ← θ̄ + (θ − θ̄)/(n + 1). The first is copied, so that an
 * average of one is that one to the bit.
 */

import { keep, scope } from "../engine/scope.js";
import { noGrad, type Tensor } from "../engine/tensor.js";
import { UsageError } from "../errors.js";
import type { NamedTensors } from "./follower.js";

export class RunningMean implements Disposable {
  private tensors = new Map<string, Tensor>();

  /** How many sets it is the mean of. */
  count = 0;

  /** The mean itself: its own tensors. */
  get mean(): NamedTensors {
    return this.tensors;
  }

  /** Takes in a set, with the same weight as those before. */
  add(parameters: NamedTensors): void {
    this.blend(parameters, 1 / (this.count + 1));
  }

  /** Moves towards a set by a part of the way; the first is copied. */
  blend(parameters: NamedTensors, part: number): void {
    noGrad(() =>
      scope(() => {
        if (this.count === 0) this.set(parameters);
        else {
          this.check(parameters);
          // One pass in place, θ̄ + part·(θ − θ̄): from the half on libtorch takes the same from the other end.
          for (const [name, parameter] of parameters) this.tensors.get(name)!.lerp_(parameter, part);
        }
      }),
    );
    this.count++;
  }

  /** Starts as a copy of a set that counts as nothing: the first that is added replaces it. */
  seed(parameters: NamedTensors): void {
    noGrad(() => scope(() => this.set(parameters)));
    this.count = 0;
  }

  /** A copy of tensors and count, as they were saved. */
  restore(parameters: NamedTensors, count: number): void {
    this.seed(parameters);
    this.count = count;
  }

  /** A copy for others, of the scope the call is made in. */
  copy(): Map<string, Tensor> {
    return copyOf(this.tensors);
  }

  private set(parameters: NamedTensors): void {
    if (this.tensors.size > 0) {
      this.check(parameters);
      for (const [name, parameter] of parameters) this.tensors.get(name)!.copy_(parameter);
      return;
    }
    for (const [name, parameter] of parameters) this.tensors.set(name, keep(parameter.detach().clone()));
  }

  private check(parameters: NamedTensors): void {
    const fits = (name: string): boolean => this.tensors.has(name);
    if (parameters.size === this.tensors.size && [...parameters.keys()].every(fits)) return;
    const odd = [...parameters.keys()].find((name) => !fits(name));
    const what = odd === undefined ? `${parameters.size} of ${this.tensors.size} parameters` : `a new one, "${odd}"`;
    throw new UsageError(`averaging parameters: expected the same ones at every update, got ${what}`);
  }

  /** Frees the mean; the next value starts a new one. */
  dispose(): void {
    for (const tensor of this.tensors.values()) tensor.dispose();
    this.tensors = new Map();
    this.count = 0;
  }

  [Symbol.dispose](): void {
    this.dispose();
  }
}

/** Copies of tensors without their graph. */
export function copyOf(tensors: NamedTensors): Map<string, Tensor> {
  return noGrad(() => new Map(Array.from(tensors, ([name, tensor]) => [name, tensor.detach().clone()])));
}
