/**
 * A measure of curvature: how much the loss of a batch increases if the weights move by a small radius along its
 * gradient (the inner step of Foret et al., "Sharpness-Aware Minimization", ICLR 2021,
 * https://arxiv.org/abs/2010.01412).
 */

import { scope } from "../engine/scope.js";
import { grad, noGrad, type Tensor } from "../engine/tensor.js";
import type { Learner } from "./learner.js";

/** The radius of the paper. */
export const RADIUS = 0.05;

/** Returns the increase of the mean cross-entropy. The weights are restored bit for bit. */
export function sharpness(learner: Learner, x: Tensor, y: Tensor, radius = RADIUS): number {
  return scope(() => {
    const before = learner.evaluationLoss(x, y);
    const parameters = [...learner.parameters().values()].filter(({ requiresGrad }) => requiresGrad);
    const gradients = grad(before, parameters, { allowUnused: true });
    return noGrad(() => {
      const size = Math.hypot(...gradients.map((gradient) => gradient?.norm().item() ?? 0));
      if (!(size > 0)) return 0;
      const saved = parameters.map((parameter) => parameter.detach().clone());
      for (const [i, parameter] of parameters.entries()) {
        const gradient = gradients[i];
        if (gradient) parameter.add_(gradient.mul(radius / size));
      }
      const rise = learner.evaluationLoss(x, y).sub(before).item();
      for (const [i, parameter] of parameters.entries()) parameter.copy_(saved[i]);
      return rise;
    });
  });
}
