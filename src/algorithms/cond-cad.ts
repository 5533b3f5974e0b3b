/**
 * CondCAD applies CAD (cad.ts) within each class, so that features may contain as much information about the domain as
 * the class does. domain-bottleneck.ts describes the loss and its variants.
 */

import { defineAlgorithm } from "./algorithm.js";
import { bottleneckHparams, buildBottleneck } from "./domain-bottleneck.js";

const { selfTerm: _, ...hparams } = bottleneckHparams; // here a sample is never compared with itself

export const condCad = defineAlgorithm({
  id: "cond-cad",
  title: "CondCAD",
  paper:
    "Ruan, Dubois & Maddison, Optimal Representations for Covariate Shift, ICLR 2022, https://arxiv.org/abs/2201.00057",
  needsDomains: true,
  hparams,
  build: (context) =>
    buildBottleneck({ ...context, hparams: { ...context.hparams, selfTerm: false } }, { conditional: true }),
});
