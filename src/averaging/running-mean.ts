/**
 * A running mean of parameters: θ̄ ← θ̄ + (θ − θ̄)/(n + 1). The first set of parameters is copied, so that the mean of
 * one set equals it bit for bit.
 */

import { copyAll, lerpAll } from "../engine/many-tensors.js";
import { keep, scope } from "../engine/scope.js";
import { noGrad, type Tensor } from "../engine/tensor.js";
import { UsageError } from "../errors.js";
import type { NamedTensors } from "./follower.js";

export class RunningMean implements Disposable {
  private tensors = new Map<string, Tensor>();

  /** The number of averaged sets of parameters. */
  count = 0;

  /** The mean. These are the object's own tensors, not copies. */
  get mean(): NamedTensors {
    return this.tensors;
  }

  /** Adds a set of parameters with the same weight as each earlier one. */
  add(parameters: NamedTensors): void {
    this.blend(parameters, 1 / (this.count + 1));
  }

  /** Interpolates towards a set of parameters by the fraction `part`. The first set is copied. */
  blend(parameters: NamedTensors, part: number): void {
    noGrad(() =>
      scope(() => {
        if (this.count === 0) this.set(parameters);
        else {
          this.check(parameters);
          // One in-place pass computes θ̄ + part·(θ − θ̄). For part ≥ 0.5 libtorch interpolates from the other end.
          lerpAll(this.meansOf(parameters), [...parameters.values()], part);
        }
      }),
    );
    this.count++;
  }

  /** Starts with a copy of a set of parameters that has weight zero: the first set that is added replaces it. */
  seed(parameters: NamedTensors): void {
    noGrad(() => scope(() => this.set(parameters)));
    this.count = 0;
  }

  /** Restores a saved mean and count by copying. */
  restore(parameters: NamedTensors, count: number): void {
    this.seed(parameters);
    this.count = count;
  }

  /** Returns a copy of the mean in the current scope. */
  copy(): Map<string, Tensor> {
    return copyOf(this.tensors);
  }

  private set(parameters: NamedTensors): void {
    if (this.tensors.size > 0) {
      this.check(parameters);
      copyAll(this.meansOf(parameters), [...parameters.values()]);
      return;
    }
    for (const [name, parameter] of parameters) this.tensors.set(name, keep(parameter.detach().clone()));
  }

  private meansOf(parameters: NamedTensors): Tensor[] {
    return Array.from(parameters.keys(), (name) => this.tensors.get(name)!);
  }

  private check(parameters: NamedTensors): void {
    const fits = (name: string): boolean => this.tensors.has(name);
    if (parameters.size === this.tensors.size && [...parameters.keys()].every(fits)) return;
    const odd = [...parameters.keys()].find((name) => !fits(name));
    const what = odd === undefined ? `${parameters.size} of ${this.tensors.size} parameters` : `a new one, "${odd}"`;
    throw new UsageError(`averaging parameters: expected the same ones at every update, got ${what}`);
  }

  /** Frees the mean. The next set of parameters starts a new one. */
  dispose(): void {
    for (const tensor of this.tensors.values()) tensor.dispose();
    this.tensors = new Map();
    this.count = 0;
  }

  [Symbol.dispose](): void {
    this.dispose();
  }
}

/** Returns copies of tensors, detached from their graph. */
export function copyOf(tensors: NamedTensors): Map<string, Tensor> {
  return noGrad(() => new Map(Array.from(tensors, ([name, tensor]) => [name, tensor.detach().clone()])));
}
