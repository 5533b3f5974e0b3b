/**
 * CAD (contrastive adversarial domain bottleneck): features from which the domain cannot be inferred, by a contrast between
 * samples where DANN has a discriminator. The loss and its switches: domain-bottleneck.ts.
 */

import { defineAlgorithm } from "./algorithm.js";
import { bottleneckHparams, buildBottleneck } from "./domain-bottleneck.js";

export const cad = defineAlgorithm({
  id: "cad",
  title: "CAD",
  paper:
    "Ruan, Dubois & Maddison, Optimal Representations for Covariate Shift, ICLR 2022, https://arxiv.org/abs/2201.00057",
  needsDomains: true,
  hparams: bottleneckHparams,
  build: (context) => buildBottleneck(context, { conditional: false }),
});
