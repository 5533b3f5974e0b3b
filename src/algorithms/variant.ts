/** Settings that select a variant of an algorithm by name. */

import { unknownName } from "../closest-name.js";
import { UsageError } from "../errors.js";

/**
 * Returns the value of such a setting after checking it: `variantOf("pairing of MLDG", hparams.pairing, ["cyclic",
 * "meta-test"])`.
 */
export function variantOf<const T extends string>(what: string, value: string, known: readonly T[]): T {
  const found = known.find((name) => name === value);
  if (found === undefined) throw new UsageError(unknownName(what, value, known));
  return found;
}
