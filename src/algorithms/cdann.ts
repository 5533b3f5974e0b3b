/**
 * CDANN: DANN within each class, so that domains in which the classes are differently frequent are not forced together. As
 * in DomainBed: the discriminator receives the class as a learned vector added to the features, and its loss weighs all
 * classes of a batch alike. The rest: domain-adversarial.ts.
 */

import { defineAlgorithm } from "./algorithm.js";
import { adversarialHparams, adversarialHparamsBySize, buildAdversarial } from "./domain-adversarial.js";

export const cdann = defineAlgorithm({
  id: "cdann",
  title: "CDANN",
  paper: "Li et al., Deep Domain Generalization via Conditional Invariant Adversarial Networks, ECCV 2018",
  needsDomains: true,
  minDomains: 2,
  hparams: adversarialHparams,
  hparamsBySize: adversarialHparamsBySize,
  build: (context) => buildAdversarial(context, { conditional: true }),
});
