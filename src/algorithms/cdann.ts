/**
 * CDANN applies DANN within each class, so that domains with different class frequencies are not forced to match. As in
 * DomainBed, a learned embedding of the class is added to the input of the discriminator, and its loss gives equal
 * weight to all classes of a batch. domain-adversarial.ts describes the rest.
 */

import { defineAlgorithm } from "./algorithm.js";
import {
  adversarialHparams,
  adversarialHparamsBySize,
  adversarialUnused,
  buildAdversarial,
} from "./domain-adversarial.js";

export const cdann = defineAlgorithm({
  id: "cdann",
  title: "CDANN",
  paper: "Li et al., Deep Domain Generalization via Conditional Invariant Adversarial Networks, ECCV 2018",
  needsDomains: true,
  minDomains: 2,
  hparams: adversarialHparams,
  hparamsBySize: adversarialHparamsBySize,
  unused: adversarialUnused,
  build: (context) => buildAdversarial(context, { conditional: true }),
});
