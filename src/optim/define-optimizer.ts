/**
 * An optimizer as a setting of a run, `optimizer=sgd momentum=0.9`: a name, its options besides learning rate and weight decay,
 * and how to make one. Plug-ins define theirs the same way:
 *
 *     export const signSgd = defineOptimizer({
 *       id: "sign-sgd",
 *       title: "signSGD",
 *       options: { momentum: option(number({ least: 0, below: 1 }), "…", { default: 0.9 }) },
 *       make: (parameters, { lr, weightDecay, momentum }) => new SignSgd(parameters, { lr, weightDecay, momentum }),
 *     });
 *
 * One that is to follow schedules on a GPU must make steps proportional to its learning rate: see Optimizer.deviceFactor.
 */

import { declare } from "../definitions.js";
import type { Options, ValuesOf } from "../options.js";
import type { Optimizer, ParameterGroup, Settings } from "./optimizer.js";

export interface OptimizerDefinition<O extends Options = Options> {
  readonly id: string;
  readonly title: string;
  readonly paper?: string;
  /** Besides `lr` and `weightDecay`. */
  readonly options: O;
  make(groups: readonly ParameterGroup[], settings: Settings & ValuesOf<O>): Optimizer;
}

/** Declares an optimizer, its options typed. */
export function defineOptimizer<const O extends Options>(definition: OptimizerDefinition<O>): OptimizerDefinition<O> {
  return declare("optimizer", definition);
}
