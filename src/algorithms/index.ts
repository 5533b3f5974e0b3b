/** All algorithms. To add one, add a file and a line here. */

import { unknownName } from "../closest-name.js";
import { UsageError } from "../errors.js";
import { adrmx } from "./adrmx.js";
import type { AlgorithmDefinition } from "./algorithm.js";
import { andMask } from "./and-mask.js";
import { arm } from "./arm.js";
import { cad } from "./cad.js";
import { causirlCoral } from "./causirl-coral.js";
import { causirlMmd } from "./causirl-mmd.js";
import { cdann } from "./cdann.js";
import { condCad } from "./cond-cad.js";
import { coral } from "./coral.js";
import { dann } from "./dann.js";
import { disam } from "./disam.js";
import { eqrm } from "./eqrm.js";
import { erm } from "./erm.js";
import { ermPlusPlus } from "./erm-plus-plus.js";
import { fish } from "./fish.js";
import { fishr } from "./fishr.js";
import { groupDro } from "./group-dro.js";
import { gsam } from "./gsam.js";
import { ibErm } from "./ib-erm.js";
import { ibIrm } from "./ib-irm.js";
import { iga } from "./iga.js";
import { irm } from "./irm.js";
import { mdsdi } from "./mdsdi.js";
import { miro } from "./miro.js";
import { mixStyle } from "./mix-style.js";
import { mixup } from "./mixup.js";
import { mldg } from "./mldg.js";
import { mmd } from "./mmd.js";
import { mtl } from "./mtl.js";
import { rdm } from "./rdm.js";
import { rsc } from "./rsc.js";
import { sagNet } from "./sag-net.js";
import { sagm } from "./sagm.js";
import { sam } from "./sam.js";
import { sandMask } from "./sand-mask.js";
import { sd } from "./sd.js";
import { selfReg } from "./self-reg.js";
import { transfer } from "./transfer.js";
import { trm } from "./trm.js";
import { urm } from "./urm.js";
import { vrex } from "./vrex.js";

/** Algorithms by id. */
export const algorithms: Readonly<Record<string, AlgorithmDefinition>> = {
  erm,
  mmd,
  "mix-style": mixStyle,
  "group-dro": groupDro,
  irm,
  arm,
  vrex,
  cdann,
  "and-mask": andMask,
  dann,
  rsc,
  mtl,
  mixup,
  mldg,
  fish,
  fishr,
  "sag-net": sagNet,
  "self-reg": selfReg,
  coral,
  sam,
  mdsdi,
  miro,
  "erm-plus-plus": ermPlusPlus,
  sd,
  "sand-mask": sandMask,
  iga,
  trm,
  "ib-erm": ibErm,
  "ib-irm": ibIrm,
  cad,
  "cond-cad": condCad,
  transfer,
  "causirl-coral": causirlCoral,
  "causirl-mmd": causirlMmd,
  eqrm,
  rdm,
  adrmx,
  urm,
  sagm,
  gsam,
  disam,
};

/**
 * Returns the algorithm with this id or title, ignoring case. For an unknown name, the error suggests the closest one.
 */
export function algorithmNamed(name: string): AlgorithmDefinition {
  const wanted = name.toLowerCase();
  const found = Object.values(algorithms).find(({ id, title }) => id === wanted || title.toLowerCase() === wanted);
  if (!found) throw new UsageError(unknownName("algorithm", name, Object.keys(algorithms)));
  return found;
}

export {
  type AlgorithmDefinition,
  type Batch,
  type BuildContext,
  type BuiltAlgorithm,
  defineAlgorithm,
  type HparamsOf,
  type LossAlgorithm,
  type Minibatch,
  type RowLabels,
  type SharedValues,
  type StepContext,
  type StepOutcome,
  type UpdateAlgorithm,
} from "./algorithm.js";
export { domainLabels } from "./domain-labels.js";
export { featuresByDomain, lossByDomain, type PartFeatures, rowsByDomain } from "./domain-parts.js";
export type { Draws } from "./draws.js";
