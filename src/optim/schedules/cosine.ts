/**
 * Cosine annealing to 0 (Loshchilov and Hutter, 2017, https://arxiv.org/abs/1608.03983, without restarts): ½(1 +
 * cos(πt/T)).
 */

import { defineSchedule } from "../define-schedule.js";

export const cosine = defineSchedule({
  id: "cosine",
  title: "cosine",
  paper:
    "Loshchilov & Hutter, SGDR: Stochastic Gradient Descent with Warm Restarts, ICLR 2017, https://arxiv.org/abs/1608.03983",
  options: {},
  factor: (step, steps) => (1 + Math.cos((Math.PI * step) / steps)) / 2,
});
