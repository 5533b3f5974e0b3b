/**
 * AdamW (Loshchilov and Hutter, 2019, https://arxiv.org/abs/1711.05101): Adam whose weight decay shrinks the parameter by
 * lr·λ before the step, past the moments. The default decay is PyTorch's, 0.01.
 */

import { ADAM_DEFAULTS, Adam, type AdamSettings } from "./adam.js";
import type { Parameters } from "./optimizer.js";

export class AdamW extends Adam {
  protected override readonly decoupled = true;

  constructor(parameters: Parameters<AdamSettings>, settings: Partial<AdamSettings> = {}) {
    super(parameters, settings, { ...ADAM_DEFAULTS, weightDecay: 0.01 });
  }
}
