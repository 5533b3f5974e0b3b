/** The mean norm of the rows of F: it shrinks every sample's features and knows nothing of the directions of the others. */

import { count, defineRegularizer, hparam, powerOfTen } from "nudge-dg";

export const rowNorm = defineRegularizer({
  id: "row-norm",
  title: "ROW",
  paper: "a control for Shi et al., 2023, https://arxiv.org/abs/2303.07527; not in the paper",
  hparams: { weight: hparam(0.005, powerOfTen(-3, -1)) },
  settings: { warmup: count(101, "steps before the penalty is added") },
  penalty: ({ features }) => features.norm(1).mean(),
});
