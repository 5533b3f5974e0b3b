/** The regularizers, by id: what the command line, the sweep, the docs and the conformance tests read. */

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

/** The definition with an id or a title (`nuclear-norm`, `NU`), in any case; a UsageError names the nearest. */
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
