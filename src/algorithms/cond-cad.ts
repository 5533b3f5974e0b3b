/**
 * CondCAD: CAD (cad.ts) within each class, so that features may tell the domain as far as the class does. The loss and its
 * switches: domain-bottleneck.ts.
 */

import { defineAlgorithm } from "./algorithm.js";
import { bottleneckHparams, buildBottleneck } from "./domain-bottleneck.js";

const { selfTerm: _, ...hparams } = bottleneckHparams; // a sample is never compared with itself here

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
