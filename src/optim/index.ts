/** The optimizers, by id: one file each and one line here. */

import { unknownName } from "../closest-name.js";
import type { Tensor } from "../engine/tensor.js";
import { UsageError } from "../errors.js";
import { Adam, type AdamSettings } from "./adam.js";
import { AdamW } from "./adamw.js";
import { LARS } from "./lars.js";
import type { Optimizer } from "./optimizer.js";
import { SGD, type SgdSettings } from "./sgd.js";

export { Adam, type AdamSettings } from "./adam.js";
export { AdamW } from "./adamw.js";
export { LARS, type LarsSettings } from "./lars.js";
export {
  type Group,
  Optimizer,
  type OptimizerState,
  type ParameterGroup,
  type Parameters,
  type Settings,
} from "./optimizer.js";
export { SGD, type SgdSettings } from "./sgd.js";

/** Every optimizer. */
export const optimizers = { adam: Adam, adamw: AdamW, sgd: SGD, lars: LARS } as const;

/** An optimizer by its id, such as comes from a command line: `optimizerNamed("adam", parameters, { lr: 5e-5 })`. */
export function optimizerNamed(
  id: string,
  parameters: Iterable<Tensor>,
  settings: Partial<AdamSettings & SgdSettings> & { lr: number },
): Optimizer {
  if (!Object.hasOwn(optimizers, id)) throw new UsageError(unknownName("optimizer", id, Object.keys(optimizers)));
  return new optimizers[id as keyof typeof optimizers](parameters, settings);
}
