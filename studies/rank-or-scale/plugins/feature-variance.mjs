/** The variance of each feature over the batch, summed, under a root: IB-ERM's penalty as a norm. It leaves the mean alone. */

import { count, defineRegularizer, hparam, powerOfTen } from "nudge-dg";

export const featureVariance = defineRegularizer({
  id: "feature-variance",
  title: "VAR",
  paper: "a control for Shi et al., 2023, https://arxiv.org/abs/2303.07527; not in the paper",
  hparams: { weight: hparam(0.01, powerOfTen(-3, 0)) },
  settings: { warmup: count(101, "steps before the penalty is added") },
  penalty: ({ features }) => features.sub(features.mean(0, true)).norm().div(features.rows),
});
