/**
 * Adam (Kingma and Ba, 2015, https://arxiv.org/abs/1412.6980, Algorithm 1), with coupled weight decay as in PyTorch's
 * Adam: λ·parameter is added to the gradient and therefore affects the moments (L2 regularization).
 *
 *     m ← β₁m + (1 − β₁)g,  v ← β₂v + (1 − β₂)g²,  θ ← θ − lr/(1 − β₁ᵗ) · m / (√v/√(1 − β₂ᵗ) + ε)
 *
 * On the CPU one kernel updates all parameters in one pass, with the numbers of PyTorch's operations
 * (native/src/adam-host.cc). On a GPU one fused kernel updates all parameters: `nudge::adam` (native/src/adam.cc), or
 * ATen's if the kernels could not be built. It counts the steps in device state, so that replaying a captured graph
 * increments them. The learning rate is a constant of the captured graph.
 */

import { fusedKernelsProblem } from "../engine/device.js";
import {
  _foreachAddScalar_,
  _foreachMulScalar_,
  _fusedAdam_,
  full,
  updateByAdam,
  updateByAdamOnHost,
} from "../engine/ops.generated.js";
import { keep } from "../engine/scope.js";
import type { Tensor } from "../engine/tensor.js";
import { UsageError } from "../errors.js";
import { groupBy } from "../group-by.js";
import {
  DEVICE_STEPS,
  type Entry,
  type Group,
  Optimizer,
  type Parameters,
  type Part,
  type Settings,
} from "./optimizer.js";

export interface AdamSettings extends Settings {
  /** The decay rates of the first and the second moment. */
  betas: readonly [number, number];
  /** Added to the square root of the second moment for numerical stability. */
  eps: number;
}

/** PyTorch's defaults. */
export const ADAM_DEFAULTS: AdamSettings = { lr: 1e-3, betas: [0.9, 0.999], eps: 1e-8, weightDecay: 0 };

export class Adam extends Optimizer<AdamSettings> {
  protected readonly names = ["exp_avg", "exp_avg_sq"];
  /** Whether weight decay is applied to the parameter directly and not through the gradient, as in AdamW. */
  protected readonly decoupled: boolean = false;

  constructor(parameters: Parameters<AdamSettings>, settings: Partial<AdamSettings> = {}, defaults = ADAM_DEFAULTS) {
    super(parameters, settings, defaults);
  }

  protected override check(settings: AdamSettings): void {
    super.check(settings);
    const { betas, eps } = settings;
    if (!(eps >= 0)) throw new UsageError(`optimizer: eps should not be negative, got ${eps}`);
    if (betas.length !== 2 || betas.some((beta) => !(beta >= 0 && beta < 1))) {
      throw new UsageError(`optimizer: betas should be two numbers from 0 to just below 1, got ${betas.join(", ")}`);
    }
  }

  protected updateOnHost(group: Group<AdamSettings>, { entries, gradients }: Part): void {
    const { lr, eps, weightDecay } = group;
    const [beta1, beta2] = group.betas;
    for (const entry of entries) entry.steps++;
    for (const [steps, places] of groupBy(entries.keys(), (i) => entries[i].steps)) {
      const some = places.map((i) => entries[i]);
      updateByAdamOnHost(
        some.map(({ parameter }) => parameter),
        places.map((i) => gradients[i]),
        this.stateTensors(some, "exp_avg"),
        this.stateTensors(some, "exp_avg_sq"),
        lr / (1 - beta1 ** steps),
        Math.sqrt(1 - beta2 ** steps),
        beta1,
        beta2,
        this.decoupled ? 0 : weightDecay,
        this.decoupled ? 1 - lr * weightDecay : 1,
        eps,
      );
    }
  }

  protected updateOnDevice(group: Group<AdamSettings>, { entries, gradients }: Part): void {
    const { lr, eps, weightDecay } = group;
    const [beta1, beta2] = group.betas;
    const parameters = entries.map(({ parameter }) => parameter);
    const means = this.stateTensors(entries, "exp_avg");
    const squares = this.stateTensors(entries, "exp_avg_sq");
    const steps = deviceSteps(entries);
    _foreachAddScalar_(steps, 1);
    if (this.decoupled && weightDecay !== 0) _foreachMulScalar_(parameters, 1 - lr * weightDecay);
    const decay = this.decoupled ? 0 : weightDecay;
    if (parameters[0].dtype === "float32" && fusedKernelsProblem(parameters[0].device) === "") {
      updateByAdam(parameters, gradients, means, squares, steps, lr, beta1, beta2, decay, eps);
      return;
    }
    _fusedAdam_(parameters, gradients, means, squares, [], steps, {
      lr,
      beta1,
      beta2,
      weight_decay: decay,
      eps,
      amsgrad: false,
      maximize: false,
    });
  }
}

/** Returns the step counts on the parameters' device. They are created from the step counts on the host. */
function deviceSteps(entries: readonly Entry[]): Tensor[] {
  const fresh = entries.filter(({ state }) => !state.has(DEVICE_STEPS));
  for (const steps of new Set(fresh.map((entry) => entry.steps))) {
    const some = fresh.filter((entry) => entry.steps === steps);
    const { device } = some[0].parameter;
    const counts = full([some.length], steps, { dtype: "float32", device });
    for (const [i, { state }] of some.entries()) state.set(DEVICE_STEPS, keep(counts.select(0, i)));
  }
  return entries.map(({ state }) => state.get(DEVICE_STEPS)!);
}
