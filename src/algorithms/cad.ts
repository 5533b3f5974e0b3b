/**
 * CAD (contrastive adversarial domain bottleneck) learns features from which the domain cannot be inferred. It uses a
 * contrastive loss between samples where DANN uses a discriminator. domain-bottleneck.ts describes the loss and its
 * variants.
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
