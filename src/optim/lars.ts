/**
 * LARS (You, Gitman and Ginsburg, 2017, https://arxiv.org/abs/1708.03888) in the form of MoCo v3, which ERM++ uses: the
 * step of each matrix is proportional to the norm of the matrix.
 *
 *     matrices:  d = g + λθ,  d ← d·c‖θ‖/‖d‖ if both norms are positive;   vectors and scalars:  d = g
 *     m ← μm + d,  θ ← θ − lr·m
 */

import type { Tensor } from "../engine/tensor.js";
import { checkRange, type Group, Optimizer, type Parameters, type Part, type Settings } from "./optimizer.js";

export interface LarsSettings extends Settings {
  /** The momentum factor μ. */
  momentum: number;
  /** The trust coefficient c: the norm of a step relative to the norm of its matrix, at a learning rate of 1. */
  trust: number;
}

const BUFFER = "mu";

export class LARS extends Optimizer<LarsSettings> {
  protected readonly names = [BUFFER];

  constructor(parameters: Parameters<LarsSettings>, settings: Partial<LarsSettings> & { lr: number }) {
    super(parameters, settings, { lr: Number.NaN, momentum: 0.9, trust: 0.001, weightDecay: 0 });
  }

  protected override check(settings: LarsSettings): void {
    super.check(settings);
    checkRange("momentum", settings.momentum, 0, Number.MAX_VALUE);
    checkRange("trust", settings.trust, 0, Number.MAX_VALUE);
  }

  protected updateOnHost(group: Group<LarsSettings>, part: Part): void {
    this.update(group, part);
  }

  protected updateOnDevice(group: Group<LarsSettings>, part: Part): void {
    this.update(group, part);
  }

  private update({ lr, momentum, trust, weightDecay }: Group<LarsSettings>, { entries, gradients }: Part): void {
    for (const [i, entry] of entries.entries()) {
      const { parameter } = entry;
      const direction =
        parameter.shape.length > 1
          ? scaled(gradients[i].add(parameter, { alpha: weightDecay }), parameter, trust)
          : gradients[i];
      const buffer = this.stateTensor(entry, BUFFER);
      entry.steps++;
      buffer.mul_(momentum).add_(direction);
      parameter.add_(buffer, { alpha: -lr });
    }
  }
}

/** Scales the direction to `trust` times the norm of the parameter. If one of the norms is 0, it stays unchanged. */
function scaled(direction: Tensor, parameter: Tensor, trust: number): Tensor {
  const [size, length] = [parameter.norm(), direction.norm()];
  const isUsable = size.gt(0).logicalAnd(length.gt(0));
  return direction.mul(size.mul(trust).div(length).where(isUsable, 1));
}
