/**
 * The one-cycle policy (Smith and Topin, 2017, https://arxiv.org/abs/1708.07120): the learning rate increases along
 * half a cosine and then decreases to almost zero along another. The constants are those of PyTorch's OneCycleLR.
 * Momentum is not cycled.
 */

import { number, option } from "../../options.js";
import { defineSchedule } from "../define-schedule.js";

export const oneCycle = defineSchedule({
  id: "one-cycle",
  title: "one cycle",
  paper:
    "Smith & Topin, Super-Convergence: Very Fast Training of Neural Networks Using Large Learning Rates, 2017, https://arxiv.org/abs/1708.07120",
  options: {
    rise: option(number({ above: 0, below: 1 }), "the share of the updates in which the learning rate rises", {
      default: 0.3,
    }),
    startDivisor: option(number({ least: 1 }), "the learning rate begins at its value divided by this", {
      default: 25,
    }),
    endDivisor: option(number({ least: 1 }), "it ends at where it began divided by this", { default: 1e4 }),
  },
  factor(at, steps, { rise, startDivisor, endDivisor }) {
    const top = Math.max(rise * steps - 1, 0);
    const start = 1 / startDivisor;
    if (at <= top && top > 0) return between(start, 1, at / top);
    return between(1, start / endDivisor, Math.min(1, (at - top) / Math.max(steps - 1 - top, 1)));
  },
});

/** Interpolates between two values along half a cosine. */
const between = (from: number, to: number, share: number): number =>
  to + ((from - to) / 2) * (1 + Math.cos(Math.PI * share));
