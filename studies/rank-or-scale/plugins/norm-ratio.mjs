/**
 * The nuclear norm over the Frobenius norm: 1 at rank one, √rank at most, and the same for F and any multiple of F. It asks for a low rank and leaves the scale
 * alone. It is not divided by the number of rows, since the ratio does not grow with them as a norm does.
 */

import { count, defineRegularizer, hparam, nuclearNormOf, powerOfTen } from "nudge-dg";

export const normRatio = defineRegularizer({
  id: "norm-ratio",
  title: "RATIO",
  paper: "a control for Shi et al., 2023, https://arxiv.org/abs/2303.07527; not in the paper",
  hparams: { weight: hparam(0.1, powerOfTen(-2, 0)) },
  settings: { warmup: count(101, "steps before the penalty is added") },

  penalty({ features, step, notice, watch }) {
    const options = { notice, watch, deferred: watch !== undefined, what: `the features at step ${step}` };
    return nuclearNormOf(features, options).div(features.norm());
  },
});
