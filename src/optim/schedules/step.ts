/** Multiplies the learning rate by a factor after every `period` updates. */

import { UsageError } from "../../errors.js";
import { number, option } from "../../options.js";
import { defineSchedule } from "../define-schedule.js";

export const step = defineSchedule({
  id: "step",
  title: "step",
  options: {
    period: option(
      number({ above: 0 }),
      "updates between two changes: a number from 1, or a share of the run below 1",
      {
        default: 1 / 3,
      },
    ),
    decay: option(number({ above: 0, most: 1 }), "what the learning rate is multiplied by at each", { default: 0.1 }),
  },
  factor: (at, steps, { period, decay }) => decay ** Math.floor(at / updatesOf(period, steps)),
  check(steps, { period }) {
    if (updatesOf(period, steps) < steps) return;
    throw new UsageError(
      `step.period ${period}: the run has ${steps} steps, so the learning rate would never change; expected fewer, or a share below 1`,
    );
  },
});

const updatesOf = (period: number, steps: number): number =>
  Math.max(1, period < 1 ? Math.ceil(period * steps) : Math.floor(period));
