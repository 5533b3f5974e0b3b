/**
 * DANN: features whose domain a discriminator cannot tell, so that what is learned on them holds in any domain. How the two
 * take turns, the public variants and what is saved: domain-adversarial.ts.
 */

import { defineAlgorithm } from "./algorithm.js";
import { adversarialHparams, adversarialHparamsBySize, buildAdversarial } from "./domain-adversarial.js";

export const dann = defineAlgorithm({
  id: "dann",
  title: "DANN",
  paper:
    "Ganin et al., Domain-Adversarial Training of Neural Networks, JMLR 17 (2016), https://arxiv.org/abs/1505.07818",
  needsDomains: true,
  minDomains: 2,
  hparams: adversarialHparams,
  hparamsBySize: adversarialHparamsBySize,
  build: (context) => buildAdversarial(context, { conditional: false }),
});
