/** The nuclear norm over the Frobenius norm, negative: the opposite of norm-ratio.mjs. It raises the rank and leaves the scale alone. */

import { count, defineRegularizer, hparam, nuclearNormOf, powerOfTen } from "nudge-dg";

export const rankRaising = defineRegularizer({
  id: "rank-raising",
  title: "RAISE",
  paper: "a control for Shi et al., 2023, https://arxiv.org/abs/2303.07527; not in the paper",
  hparams: { weight: hparam(0.1, powerOfTen(-2, 0)) },
  settings: { warmup: count(101, "steps before the penalty is added") },

  penalty({ features, step, notice, watch }) {
    const options = { notice, watch, deferred: watch !== undefined, what: `the features at step ${step}` };
    return nuclearNormOf(features, options).div(features.norm()).neg();
  },
});
