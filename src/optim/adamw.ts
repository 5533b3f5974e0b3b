/**
 * AdamW (Loshchilov and Hutter, 2019, https://arxiv.org/abs/1711.05101): Adam with decoupled weight decay, which
 * shrinks the parameter by lr·λ before the step and does not affect the moments. The default decay is 0.01, as in
 * PyTorch.
 */

import { ADAM_DEFAULTS, Adam, type AdamSettings } from "./adam.js";
import type { Parameters } from "./optimizer.js";

export class AdamW extends Adam {
  protected override readonly decoupled = true;

  constructor(parameters: Parameters<AdamSettings>, settings: Partial<AdamSettings> = {}) {
    super(parameters, settings, { ...ADAM_DEFAULTS, weightDecay: 0.01 });
  }
}
