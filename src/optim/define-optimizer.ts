/**
 * An optimizer as a setting of a run, such as `optimizer=sgd momentum=0.9`. A definition has a name, the options
 * besides learning rate and weight decay, and a function that creates the optimizer. Plug-ins define optimizers in the
 * same way:
 *
 *     export const signSgd = defineOptimizer({
 *       id: "sign-sgd",
 *       title: "signSGD",
 *       options: { momentum: option(number({ least: 0, below: 1 }), "…", { default: 0.9 }) },
 *       make: (parameters, { lr, weightDecay, momentum }) => new SignSgd(parameters, { lr, weightDecay, momentum }),
 *     });
 *
 * To support schedules on a GPU, the steps of an optimizer must be proportional to its learning rate: see
 * Optimizer.deviceFactor.
 */

import { declare } from "../definitions.js";
import type { Options, ValuesOf } from "../options.js";
import type { Optimizer, ParameterGroup, Settings } from "./optimizer.js";

export interface OptimizerDefinition<O extends Options = Options> {
  readonly id: string;
  readonly title: string;
  readonly paper?: string;
  /** Options besides `lr` and `weightDecay`. */
  readonly options: O;
  make(groups: readonly ParameterGroup[], settings: Settings & ValuesOf<O>): Optimizer;
}

/** Declares an optimizer with typed options. */
export function defineOptimizer<const O extends Options>(definition: OptimizerDefinition<O>): OptimizerDefinition<O> {
  return declare("optimizer", definition);
}
