/**
 * Stochastic gradient descent as in PyTorch, with momentum (Polyak) and Nesterov's variant (Sutskever et al., 2013):
 *
 *     g ← g + λθ,  b ← μb + g (b = g at first),  θ ← θ − lr·b,  or θ − lr·(g + μb) with Nesterov
 *
 * The learning rate is applied to the buffer at each step and is not part of the buffer, so a change takes effect at
 * once.
 */

import { _foreachAdd, _foreachAdd_, _foreachMulScalar_ } from "../engine/ops.generated.js";
import { keep } from "../engine/scope.js";
import type { Tensor } from "../engine/tensor.js";
import { UsageError } from "../errors.js";
import {
  checkRange,
  type Entry,
  type Group,
  Optimizer,
  type Parameters,
  type Part,
  type Settings,
} from "./optimizer.js";

export interface SgdSettings extends Settings {
  /** The momentum factor. With 0 there is no momentum buffer. */
  momentum: number;
  /** Whether to use Nesterov momentum. */
  nesterov: boolean;
}

const BUFFER = "momentum_buffer";

export class SGD extends Optimizer<SgdSettings> {
  protected readonly names = [BUFFER];

  /** The learning rate has no default, neither here nor in a group: `check` rejects NaN. */
  constructor(parameters: Parameters<SgdSettings>, settings: Partial<SgdSettings> & { lr: number }) {
    super(parameters, settings, { lr: Number.NaN, momentum: 0, nesterov: false, weightDecay: 0 });
  }

  protected override check(settings: SgdSettings): void {
    super.check(settings);
    checkRange("momentum", settings.momentum, 0, Number.MAX_VALUE);
    if (settings.nesterov && settings.momentum === 0)
      throw new UsageError("optimizer: nesterov needs a momentum above 0");
  }

  protected updateOnHost(group: Group<SgdSettings>, { entries, gradients }: Part): void {
    const { lr, momentum, nesterov, weightDecay } = group;
    entries.forEach((entry, i) => {
      const { parameter } = entry;
      let direction = gradients[i];
      if (weightDecay !== 0) direction = direction.add(parameter, { alpha: weightDecay });
      if (momentum !== 0) {
        const buffer = entry.state.get(BUFFER)?.mul_(momentum).add_(direction) ?? this.first(entry, direction);
        entry.steps++;
        direction = nesterov ? direction.add(buffer, { alpha: momentum }) : buffer;
      }
      parameter.add_(direction, { alpha: -lr });
    });
  }

  protected updateOnDevice(group: Group<SgdSettings>, { entries, gradients }: Part): void {
    const { lr, momentum, nesterov, weightDecay } = group;
    const parameters = entries.map(({ parameter }) => parameter);
    let directions: Tensor[] = gradients;
    if (weightDecay !== 0) directions = _foreachAdd(directions, parameters, { alpha: weightDecay });
    if (momentum !== 0) {
      const existing = entries.flatMap(({ state }, i) => (state.has(BUFFER) ? [i] : []));
      const buffers = existing.map((i) => entries[i].state.get(BUFFER)!);
      if (existing.length > 0) {
        _foreachMulScalar_(buffers, momentum);
        _foreachAdd_(
          buffers,
          existing.map((i) => directions[i]),
        );
      }
      const all = entries.map((entry, i) => entry.state.get(BUFFER) ?? this.first(entry, directions[i]));
      for (const entry of entries) entry.steps++;
      directions = nesterov ? _foreachAdd(directions, all, { alpha: momentum }) : all;
    }
    _foreachAdd_(parameters, directions, { alpha: -lr });
  }

  /** Initializes the buffer with the first direction. */
  private first({ state }: Entry, direction: Tensor): Tensor {
    const buffer = keep(direction.clone());
    state.set(BUFFER, buffer);
    return buffer;
  }
}
