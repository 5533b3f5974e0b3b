/** All optimizers by id. To add one, add a file and a line here. The learning rate schedules are in schedules/. */

import { unknownName } from "../closest-name.js";
import { UsageError } from "../errors.js";
import { boolean, number, option } from "../options.js";
import { Adam } from "./adam.js";
import { AdamW } from "./adamw.js";
import { defineOptimizer, type OptimizerDefinition } from "./define-optimizer.js";
import { LARS } from "./lars.js";
import { SGD } from "./sgd.js";

export { Adam, type AdamSettings } from "./adam.js";
export { AdamW } from "./adamw.js";
export { defineOptimizer, type OptimizerDefinition } from "./define-optimizer.js";
export {
  afterWarmup,
  defineSchedule,
  type FollowedSchedule,
  rateFactor,
  type ScheduleDefinition,
  type ValidationLoss,
} from "./define-schedule.js";
export { LARS, type LarsSettings } from "./lars.js";
export {
  type Group,
  Optimizer,
  type OptimizerState,
  type ParameterGroup,
  type Parameters,
  type Settings,
} from "./optimizer.js";
export { scheduleNamed, schedules } from "./schedules/index.js";
export { SGD, type SgdSettings } from "./sgd.js";

const momentum = option(number({ least: 0, below: 1 }), "how much of the last direction a step keeps", {
  default: 0.9,
});

const adam = defineOptimizer({
  id: "adam",
  title: "Adam",
  paper: "Kingma & Ba, Adam: A Method for Stochastic Optimization, ICLR 2015, https://arxiv.org/abs/1412.6980",
  options: {},
  make: (groups, settings) => new Adam(groups, settings),
});

const adamw = defineOptimizer({
  id: "adamw",
  title: "AdamW",
  paper: "Loshchilov & Hutter, Decoupled Weight Decay Regularization, ICLR 2019, https://arxiv.org/abs/1711.05101",
  options: {},
  make: (groups, settings) => new AdamW(groups, settings),
});

const sgd = defineOptimizer({
  id: "sgd",
  title: "SGD",
  options: { momentum, nesterov: option(boolean, "whether to look ahead along the momentum", { default: false }) },
  make: (groups, settings) => new SGD(groups, settings),
});

const lars = defineOptimizer({
  id: "lars",
  title: "LARS",
  paper:
    "You, Gitman & Ginsburg, Large Batch Training of Convolutional Networks, 2017, https://arxiv.org/abs/1708.03888",
  options: {
    momentum,
    trust: option(number({ above: 0 }), "the size of a step relative to its matrix, at a learning rate of 1", {
      default: 0.001,
    }),
  },
  make: (groups, settings) => new LARS(groups, settings),
});

/** Optimizers by id. */
export const optimizers: Readonly<Record<string, OptimizerDefinition>> = { adam, adamw, sgd, lars } as Record<
  string,
  OptimizerDefinition
>;

/** Returns the optimizer with this id. For an unknown id, the error suggests the closest one. */
export function optimizerNamed(id: string): OptimizerDefinition {
  if (!Object.hasOwn(optimizers, id)) throw new UsageError(unknownName("optimizer", id, Object.keys(optimizers)));
  return optimizers[id];
}
