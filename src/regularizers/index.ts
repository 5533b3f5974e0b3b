/** All regularizers by id. The command line, the sweep, the docs and the conformance tests read this object. */

import { unknownName } from "../closest-name.js";
import { UsageError } from "../errors.js";
import { centredNuclearNorm } from "./centred-nuclear-norm.js";
import { frobeniusNorm } from "./frobenius-norm.js";
import { l2Sp } from "./l2-sp.js";
import { nuclearNorm } from "./nuclear-norm.js";
import type { AnyRegularizerDefinition } from "./regularizer.js";

export const regularizers = {
  "nuclear-norm": nuclearNorm,
  "frobenius-norm": frobeniusNorm,
  "centred-nuclear-norm": centredNuclearNorm,
  "l2-sp": l2Sp,
};

export type RegularizerId = keyof typeof regularizers;

/**
 * Returns the definition with this id or title (`nuclear-norm`, `NU`), ignoring case. An unknown name throws a
 * UsageError that suggests the closest name.
 */
export function regularizerNamed(name: string): AnyRegularizerDefinition {
  const asked = name.toLowerCase();
  const found = Object.values(regularizers).find(({ id, title }) => id === asked || title.toLowerCase() === asked);
  if (!found) throw new UsageError(unknownName("regularizer", name, Object.keys(regularizers)));
  return found as AnyRegularizerDefinition;
}

export { nuclearNormOf } from "./nuclear-norm-of.js";
export { type PolarFactor, type PolarOptions, type PolarRoute, polarFactor, residualTooLarge } from "./polar.js";
export {
  type AnyRegularizerDefinition,
  defineRegularizer,
  type Regularizer,
  type RegularizerDefinition,
  type StepResult,
} from "./regularizer.js";
export { centredNuclearNorm, frobeniusNorm, l2Sp, nuclearNorm };
