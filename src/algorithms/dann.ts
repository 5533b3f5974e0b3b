/**
 * DANN learns features from which a discriminator cannot infer the domain, so that the classifier should work in any
 * domain. domain-adversarial.ts describes the alternating updates, the public variants and the differences to
 * DomainBed.
 */

import { defineAlgorithm } from "./algorithm.js";
import {
  adversarialHparams,
  adversarialHparamsBySize,
  adversarialUnused,
  buildAdversarial,
} from "./domain-adversarial.js";

export const dann = defineAlgorithm({
  id: "dann",
  title: "DANN",
  paper:
    "Ganin et al., Domain-Adversarial Training of Neural Networks, JMLR 17 (2016), https://arxiv.org/abs/1505.07818",
  needsDomains: true,
  minDomains: 2,
  hparams: adversarialHparams,
  hparamsBySize: adversarialHparamsBySize,
  unused: adversarialUnused,
  build: (context) => buildAdversarial(context, { conditional: false }),
});
