/**
 * Stochastic gradient descent as PyTorch has it, with momentum (Polyak) and Nesterov's variant (Sutskever et al., 2013):
 *
 *     g ← g + λθ,  b ← μb + g (b = g at first),  θ ← θ − lr·b,  or θ − lr·(g + μb) with Nesterov
 *
 * The learning rate multiplies the buffer when it is used, not when it is filled: a change of it acts at once.
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
  /** How much of the last direction a step keeps; 0 remembers nothing. */
  momentum: number;
  /** Look ahead along the momentum. */
  nesterov: boolean;
}

const BUFFER = "momentum_buffer";

export class SGD extends Optimizer<SgdSettings> {
  protected readonly names = [BUFFER];

  /** The learning rate has no default, here or in a group: its check refuses the NaN. */
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
        const buffer = entry.memory.get(BUFFER)?.mul_(momentum).add_(direction) ?? this.first(entry, direction);
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
      const going = entries.flatMap(({ memory }, i) => (memory.has(BUFFER) ? [i] : []));
      const buffers = going.map((i) => entries[i].memory.get(BUFFER)!);
      if (going.length > 0) {
        _foreachMulScalar_(buffers, momentum);
        _foreachAdd_(
          buffers,
          going.map((i) => directions[i]),
        );
      }
      const all = entries.map((entry, i) => entry.memory.get(BUFFER) ?? this.first(entry, directions[i]));
      for (const entry of entries) entry.steps++;
      directions = nesterov ? _foreachAdd(directions, all, { alpha: momentum }) : all;
    }
    _foreachAdd_(parameters, directions, { alpha: -lr });
  }

  /** The buffer starts as the first direction itself. */
  private first({ memory }: Entry, direction: Tensor): Tensor {
    const buffer = keep(direction.clone());
    memory.set(BUFFER, buffer);
    return buffer;
  }
}
